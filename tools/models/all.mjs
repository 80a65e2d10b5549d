// Every model by its name; a function that makes it.
import { networks } from './networks.mjs'
import { operators } from './operators.mjs'

export const all = { ...networks, ...operators }
