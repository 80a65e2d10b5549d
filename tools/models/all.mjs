// Every model by its name; a function that makes it.
import { networks } from './networks.mjs'

export const all = { ...networks }
