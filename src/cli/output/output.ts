import { VisibleBytes, visibleText } from '../../base/visible-text.ts';

/** An output stream for the user. */
export interface Output {
  readonly isTerminal: boolean;
  /** Whether text may be coloured. */
  readonly hasColours: boolean;
  /** Whether the cursor can be moved, so that lines can be drawn again. */
  readonly canRedraw: boolean;
  /** Whether it goes to systemd's journal, which keeps the time of each line, and reads its priority from its start. */
  readonly isJournal: boolean;
  /**
   * Resolves when the text is written; rejects with `EPIPE` when the reader is gone. Control characters are made visible on
   * a terminal; other outputs get the bytes unchanged.
   */
  write(text: string | Uint8Array): Promise<void>;
  /** The same without making characters visible: for our own escape sequences, and for a tty that the user requested. */
  writeRaw(text: string | Uint8Array): Promise<void>;
}

interface OutputOptions {
  readonly isTerminal: boolean;
  readonly isJournal?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  write(text: string | Uint8Array): Promise<void>;
}

/** Creates an output by the abilities of the terminal; respects `NO_COLOR` (https://no-color.org) and `TERM=dumb`. */
export function createOutput({ isTerminal, isJournal = false, env, write }: OutputOptions): Output {
  const canRedraw = isTerminal && env['TERM'] !== 'dumb';
  const visible = new VisibleBytes();
  const shown = (text: string | Uint8Array): string =>
    typeof text === 'string' ? `${visible.end()}${visibleText(text)}` : visible.next(text);
  return {
    isTerminal,
    hasColours: canRedraw && !env['NO_COLOR'],
    canRedraw,
    isJournal,
    write: (text) => write(isTerminal ? shown(text) : text),
    writeRaw: (text) => write(text),
  };
}
