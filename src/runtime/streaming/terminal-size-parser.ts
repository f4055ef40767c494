/** Size of a terminal in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** A longer text is not a valid size. */
const MAX_TEXT_LENGTH = 1024;
const MAX_SIDE = 65_535;

/** Parses a stream of `{"Width":80,"Height":24}` in chunks of any size. Stops at the first invalid size. */
export class TerminalSizeParser {
  readonly #decoder = new TextDecoder();
  #text = '';
  #isBroken = false;

  /** Returns the sizes that are complete. Sizes with a side of 0 are dropped. */
  push(data: Uint8Array): readonly TerminalSize[] {
    if (this.#isBroken) return [];
    const sizes: TerminalSize[] = [];
    const parts = (this.#text + this.#decoder.decode(data, { stream: true })).split('}');
    this.#text = parts.pop() ?? '';
    this.#isBroken = this.#text.length > MAX_TEXT_LENGTH;
    for (const part of parts) {
      const size = parseSize(`${part}}`);
      if (size === undefined) {
        this.#isBroken = true;
        break;
      }
      if (size.width > 0 && size.height > 0) sizes.push(size);
    }
    return sizes;
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    const entries = Object.entries(JSON.parse(text)).map(([name, value]) => [name.toLowerCase(), value] as const);
    const sides = new Map(entries);
    const [width, height] = [parseSide(sides.get('width')), parseSide(sides.get('height'))];
    return width === undefined || height === undefined ? undefined : { width, height };
  } catch {
    return undefined;
  }
}

/** An absent side is 0, as in Go. */
function parseSide(value: unknown = 0): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_SIDE ? value : undefined;
}
