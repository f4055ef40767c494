import { VisibleBytes, visibleText } from '../../base/visible-text.ts';

/** Where text for the user goes. */
export interface Output {
  readonly isTerminal: boolean;
  /** Whether text may be coloured. */
  readonly hasColours: boolean;
  /** Whether the cursor can be moved, so that lines can be drawn again. */
  readonly canRedraw: boolean;
  /**
   * Resolves when the text is handed on; rejects with `EPIPE` when nobody reads any more. A terminal shows control
   * characters instead of acting on them; anything else gets the very bytes.
   */
  write(text: string | Uint8Array): Promise<void>;
  /** The same with nothing made visible: for escape sequences of our own, and for a tty that the user asked for. */
  writeRaw(text: string | Uint8Array): Promise<void>;
}

interface OutputOptions {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  write(text: string | Uint8Array): Promise<void>;
}

/** An output with what the terminal can do and the user wants: `NO_COLOR` (https://no-color.org) and `TERM=dumb` count. */
export function createOutput({ isTerminal, env, write }: OutputOptions): Output {
  const canRedraw = isTerminal && env['TERM'] !== 'dumb';
  const visible = new VisibleBytes();
  const shown = (text: string | Uint8Array): string =>
    typeof text === 'string' ? `${visible.end()}${visibleText(text)}` : visible.next(text);
  return {
    isTerminal,
    hasColours: canRedraw && !env['NO_COLOR'],
    canRedraw,
    write: (text) => write(isTerminal ? shown(text) : text),
    writeRaw: (text) => write(text),
  };
}
