import { fileURLToPath } from 'node:url';
import type { SampledStack, StackFrame } from '../../profiler.ts';

/** A call as V8 reports it; lines begin at 0. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** Collects samples by stack; frames with the same function, file and line are one. */
export class StackCollector {
  readonly frames: StackFrame[] = [];
  readonly stacks: SampledStack[] = [];
  readonly #indexes = new Map<string, number>();

  /** The index of a call. */
  frame({ functionName, url, lineNumber }: CallFrame): number {
    const frame = { functionName: functionName || '(anonymous)', file: fileOf(url), line: Math.max(0, lineNumber + 1) };
    const key = `${frame.functionName}\0${frame.file}\0${frame.line}`;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.frames.length);
    return this.frames.push(frame) - 1;
  }

  add(frames: readonly number[], samples: number, amount: number): void {
    if (samples > 0 || amount > 0) this.stacks.push({ frames, samples, amount });
  }
}

function fileOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url;
}
