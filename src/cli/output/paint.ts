export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'dim';

/** Colours text, or returns it unchanged. */
export type Paint = (colour: Colour, text: string) => string;

const CODES: Readonly<Record<Colour, number>> = {
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
};

export const plain: Paint = (_, text) => text;

export const ansi: Paint = (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m`;
