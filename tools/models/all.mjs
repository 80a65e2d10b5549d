// Every model by its name; a function that makes it.
import { attentions } from './attention.mjs'
import { networks } from './networks.mjs'
import { operators } from './operators.mjs'
import { quantisedOperators } from './quantised.mjs'

export const all = { ...networks, ...attentions, ...operators, ...quantisedOperators }
