/**
 * Text from containers, images and registries on its way to a terminal. A terminal acts on control characters: escape
 * sequences move the cursor, hide text, change the title or answer as if keys had been pressed.
 */

/** Everything of C0, DEL and C1 but tab and line feed; a carriage return counts unless it ends a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/**
 * The text with control characters as `cat -v` shows those of C0 (`^[`), and the others as JSON escapes (`\u009b`): inside
 * JSON, where those of C0 are escaped already, the value stays the same.
 */
export function visibleText(text: string): string {
  return text.replaceAll(CONTROL, (control) => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? `^${String.fromCharCode(code + 0x40)}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** The same for a stream of bytes, whose chunks may end within a character or a line end. */
export class VisibleBytes {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** A carriage return at the end of a chunk: what follows decides what it is. */
  #held = '';

  /** The visible text of `chunk`, without an incomplete character or a carriage return at its end. */
  next(chunk: Uint8Array): string {
    return this.#visible(this.#decoder.decode(chunk, { stream: true }), false);
  }

  /** What `next` has held back. */
  end(): string {
    return this.#visible(this.#decoder.decode(), true);
  }

  #visible(decoded: string, isEnd: boolean): string {
    const text = `${this.#held}${decoded}`;
    this.#held = !isEnd && text.endsWith('\r') ? '\r' : '';
    return visibleText(text.slice(0, text.length - this.#held.length));
  }
}
