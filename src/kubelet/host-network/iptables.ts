import { DEFAULT_PATH } from '../../base/default-path.ts';
import { type Processes, ProcessStartError } from '../../host/processes.ts';

export type IpFamily = 'IPv4' | 'IPv6';
export type Table = 'filter' | 'mangle' | 'nat';

/** The program reports this when it did not get the lock in time. */
const RESOURCE_EXIT_CODE = 4;
/** A chain exists already, or a rule does not exist. */
const OPERATION_FAILED = 1;
/** Seconds to wait for the lock that all programs share. */
const WAIT = ['-w', '5'];

/** The rules of one IP family, by the program `iptables` or `ip6tables`, of either variant. */
export class Iptables {
  readonly family: IpFamily;
  readonly #processes: Pick<Processes, 'run'>;

  constructor(family: IpFamily, processes: Pick<Processes, 'run'>) {
    this.family = family;
    this.#processes = processes;
  }

  /** Whether the program is installed and the kernel has its tables. */
  async isPresent(signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#run('-S', 'nat', ['POSTROUTING'], signal)).exitCode === 0;
    } catch (error) {
      if (error instanceof ProcessStartError) return false;
      throw error;
    }
  }

  /** `undefined`: it cannot be found out now. */
  async chainExists(table: Table, chain: string, signal: AbortSignal): Promise<boolean | undefined> {
    const { exitCode } = await this.#run('-S', table, [chain], signal);
    return exitCode === RESOURCE_EXIT_CODE ? undefined : exitCode === 0;
  }

  async ensureChain(table: Table, chain: string, signal: AbortSignal): Promise<void> {
    const { exitCode, output } = await this.#run('-N', table, [chain], signal);
    if (exitCode === 0 || exitCode === OPERATION_FAILED) return;
    throw new Error(`error creating chain "${chain}": exit status ${exitCode}: ${output}`);
  }

  /** Adds the rule first (`-I`) or last (`-A`) unless the chain has it. */
  async ensureRule(
    position: '-I' | '-A',
    table: Table,
    [chain, ...rule]: readonly [chain: string, ...rule: string[]],
    signal: AbortSignal,
  ): Promise<void> {
    const found = await this.#run('-C', table, [chain, ...rule], signal);
    if (found.exitCode === 0) return;
    if (found.exitCode !== OPERATION_FAILED) {
      throw new Error(`error checking rule: exit status ${found.exitCode}: ${found.output}`);
    }
    const { exitCode, output } = await this.#run(position, table, [chain, ...rule], signal);
    if (exitCode !== 0) throw new Error(`error appending rule: exit status ${exitCode}: ${output}`);
  }

  async #run(
    operation: string,
    table: Table,
    [chain = '', ...rule]: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly exitCode: number; readonly output: string }> {
    const program = this.family === 'IPv4' ? 'iptables' : 'ip6tables';
    const args = [...WAIT, operation, chain, '-t', table, ...rule];
    const { exitCode, stdout, stderr } = await this.#processes.run(
      { program, args, env: { PATH: DEFAULT_PATH } },
      signal,
    );
    const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { exitCode, output: `${output}${errors}` };
  }
}
