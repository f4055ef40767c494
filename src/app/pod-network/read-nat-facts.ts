import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type Processes, ProcessStartError } from '../../host/processes.ts';
import { masqueradeScript } from '../../runtime/network/nft-table.ts';
import {
  type IptablesPrograms,
  type IptablesVariant,
  iptablesVariant,
  type NatFacts,
  type NatProgram,
  ruleSets,
} from './nat-backend.ts';
import { findFile, programPath } from './program-path.ts';

export interface NatMachine {
  readonly facts: NatFacts;
  /** The iptables rules that may have some of ours. */
  readonly ruleSets: readonly IptablesPrograms[];
}

export interface NatParts {
  readonly fs: FileSystem;
  readonly processes: Pick<Processes, 'run'>;
  readonly bridge: string;
  readonly podCidr: string;
  readonly cniBinDirs: readonly string[];
}

const NAT_RULES = ['--wait', '--table', 'nat', '--list-rules', 'POSTROUTING'];
const LEGACY_TABLES = '/proc/net/ip_tables_names';

/** Reads what this machine has for NAT. Changes no rules. */
export async function readNatFacts(parts: NatParts, signal: AbortSignal): Promise<NatMachine> {
  const { fs, cniBinDirs } = parts;
  const has = async (...programs: readonly string[]): Promise<boolean> =>
    (await Promise.all(programs.map((name) => programPath(fs, name)))).every((path) => path !== undefined);
  const [{ iptables, variant }, nft, portmap, hasNft, hasLegacy] = await Promise.all([
    has('iptables', 'iptables-save').then((installed) => (installed ? probeIptables(parts, signal) : NO_IPTABLES)),
    has('nft').then((installed) => (installed ? probeNft(parts, signal) : MISSING)),
    findFile(fs, cniBinDirs, 'portmap'),
    has('iptables-nft', 'iptables-nft-save'),
    has('iptables-legacy', 'iptables-legacy-save'),
  ]);
  // After the probes: the legacy variant creates the table that it lists.
  const legacyTables = (await fs.stat(LEGACY_TABLES)) === undefined ? '' : await fs.readText(LEGACY_TABLES);
  return {
    facts: { iptables, nft, hasPortmap: portmap !== undefined },
    ruleSets: ruleSets({ variant, hasNft, hasLegacy, legacyTables }),
  };
}

interface ProbedIptables {
  readonly iptables: NatProgram;
  /** Of a usable program. */
  readonly variant: IptablesVariant | undefined;
}

const MISSING: NatProgram = { state: 'missing' };
const NO_IPTABLES: ProbedIptables = { iptables: MISSING, variant: undefined };

async function probeIptables({ processes }: NatParts, signal: AbortSignal): Promise<ProbedIptables> {
  const [version, rules] = await Promise.all([
    run(processes, { program: 'iptables', args: ['--version'] }, signal),
    run(processes, { program: 'iptables', args: NAT_RULES }, signal),
  ]);
  const isUsable = rules.program.state === 'usable';
  return { iptables: rules.program, variant: isUsable ? iptablesVariant(version.output) : undefined };
}

/** `nft --check` sends the rules to the kernel, which rejects those it has no module for, and then drops them. */
async function probeNft({ processes, bridge, podCidr }: NatParts, signal: AbortSignal): Promise<NatProgram> {
  const input = masqueradeScript(bridge, [podCidr]);
  return (await run(processes, { program: 'nft', args: ['--check', '--file', '-'], input }, signal)).program;
}

interface Probe {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string;
}

/** A program that cannot be started is a fact too. */
async function run(
  processes: NatParts['processes'],
  probe: Probe,
  signal: AbortSignal,
): Promise<{ readonly program: NatProgram; readonly output: string }> {
  const failing = (error: string): NatProgram => ({ state: 'failing', error });
  try {
    const { exitCode, stdout, stderr } = await processes.run({ ...probe, env: { PATH: DEFAULT_PATH } }, signal);
    const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
    const [firstLine = ''] = (errors ?? '').split('\n');
    const error = firstLine === '' ? `exit code ${exitCode}` : firstLine;
    return { program: exitCode === 0 ? { state: 'usable' } : failing(error), output: output ?? '' };
  } catch (error) {
    if (!(error instanceof ProcessStartError)) throw error;
    return { program: failing(error.message), output: '' };
  }
}
