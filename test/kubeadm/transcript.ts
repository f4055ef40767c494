import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command that ran on the node. */
export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** `undefined`: it did not start, or a signal ended it. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  /** stdout and stderr as a terminal shows them. */
  readonly output: string;
  readonly seconds: number;
}

/** The commands of a run in the order in which they ran. */
export interface Transcript {
  readonly steps: readonly Step[];
  /** Why the run ended early. */
  readonly failure?: string | undefined;
}

const MAX_OUTPUT = 64 * 2 ** 20;

/** Where a run leaves its transcript. */
export function transcriptFile(folder: string): string {
  return join(folder, 'transcript.json');
}

/** Records commands; the first one that fails ends the run. */
export class Recorder {
  readonly #steps: Step[] = [];

  /** Runs a command and returns its stdout. */
  async run(name: string, ...command: readonly string[]): Promise<string> {
    const step = await runStep(name, command);
    this.#steps.push(step);
    if (step.exitCode !== 0) throw new Error(`${name}: exit code ${step.exitCode}\n${step.output}`);
    return step.stdout;
  }

  write(path: string, failure?: string): void {
    const transcript: Transcript = { steps: this.#steps, failure };
    writeFileSync(path, JSON.stringify(transcript));
  }
}

function runStep(name: string, command: readonly string[]): Promise<Step> {
  const [program = '', ...args] = command;
  const started = performance.now();
  return new Promise((resolve) => {
    let output = '';
    const child = execFile(program, args, { maxBuffer: MAX_OUTPUT }, (error, stdout) => {
      const seconds = Math.round((performance.now() - started) / 100) / 10;
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ name, command, exitCode, stdout, output: output || (error?.message ?? ''), seconds });
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: string) => {
        output += text;
      });
  });
}
