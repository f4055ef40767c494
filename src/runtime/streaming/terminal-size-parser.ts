/** Of a window, in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** More than this for one size, and it is none. */
const MAX_TEXT_LENGTH = 1024;
const MAX_SIDE = 65_535;

/** Reads `{"Width":80,"Height":24}` again and again from a stream, cut anyhow. After what is no size nothing is read any more. */
export class TerminalSizeParser {
  readonly #decoder = new TextDecoder();
  #text = '';
  #isBroken = false;

  /** Those that are complete now. A size of nothing is none. */
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

/** An absent side is 0, as Go reads it. */
function parseSide(value: unknown = 0): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_SIDE
    ? value
    : undefined;
}
