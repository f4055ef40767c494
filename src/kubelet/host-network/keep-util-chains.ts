import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Processes } from '../../host/processes.ts';
import { type IpFamily, Iptables, type Table } from './iptables.ts';

/** Other components see by the variant that has this chain which one the node uses. */
const HINT_CHAIN = 'KUBE-IPTABLES-HINT';
const FIREWALL_CHAIN = 'KUBE-FIREWALL';
/** Its absence shows that the tables were flushed. */
const CANARY_CHAIN = 'KUBE-KUBELET-CANARY';
const CANARY_TABLES: readonly Table[] = ['mangle', 'nat', 'filter'];
const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

const CHECK_MS = 60_000;
/** A flush of all tables is not atomic: the chains are restored once it is over. */
const FLUSH_POLL_MS = 100;
const FLUSH_TIMEOUT_MS = 5_000;

export interface UtilChainsDeps {
  readonly processes: Pick<Processes, 'run'>;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly log: Pick<Log, 'info' | 'error'>;
}

/**
 * kubelet's `makeIPTablesUtilChains`: creates the chains that other components expect, of both IP families, and restores them
 * when the tables are flushed, until the signal aborts. Returns at once on a machine without iptables. The chains stay.
 */
export async function keepUtilChains(deps: UtilChainsDeps, signal: AbortSignal): Promise<void> {
  const all = FAMILIES.map((family) => new Iptables(family, deps.processes));
  const isPresent = await Promise.all(all.map((each) => each.isPresent(signal)));
  const present = all.filter((_, index) => isPresent[index]);
  if (present.length === 0) {
    deps.log.info('No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain');
    return;
  }
  await Promise.all(present.map((each) => keepFamily(each, deps, signal)));
}

async function keepFamily(iptables: Iptables, deps: UtilChainsDeps, signal: AbortSignal): Promise<void> {
  const { log, clock } = deps;
  const protocol = iptables.family;
  if (!(await createChains(iptables, log, signal))) {
    log.info('Failed to initialize iptables rules; some functionality may be missing.', { protocol });
    return;
  }
  log.info('Initialized iptables rules.', { protocol });
  while (!signal.aborted) {
    if (!(await createCanaries(iptables, log, signal))) {
      await sleep(CHECK_MS, clock, signal);
      continue;
    }
    await waitForFlush(iptables, deps, signal);
    if (!signal.aborted) await createChains(iptables, log, signal);
  }
}

/** Resolves to whether all of them exist now. */
async function createChains(iptables: Iptables, log: UtilChainsDeps['log'], signal: AbortSignal): Promise<boolean> {
  try {
    await iptables.ensureChain('mangle', HINT_CHAIN, signal);
    if (iptables.family === 'IPv6') return true; // its loopback address is never routed
    await iptables.ensureChain('filter', FIREWALL_CHAIN, signal);
    for (const chain of ['OUTPUT', 'INPUT']) {
      await iptables.ensureRule('-I', 'filter', [chain, '-j', FIREWALL_CHAIN], signal);
    }
    // kube-proxy makes the kernel route loopback addresses (route_localnet); others must not reach them.
    await iptables.ensureRule('-A', 'filter', [FIREWALL_CHAIN, ...LOCALNET_RULE], signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    log.error('Failed to set up iptables rules', { protocol: iptables.family, error: errorText(error) });
    return false;
  }
}

/** kube-proxy creates the same rule: the text must not differ. */
const LOCALNET_RULE = [
  ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
  ...['--dst', '127.0.0.0/8', '!', '--src', '127.0.0.0/8'],
  ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
];

async function createCanaries(iptables: Iptables, log: UtilChainsDeps['log'], signal: AbortSignal): Promise<boolean> {
  for (const table of CANARY_TABLES) {
    try {
      await iptables.ensureChain(table, CANARY_CHAIN, signal);
    } catch (error) {
      if (!signal.aborted) {
        log.error('Could not set up iptables canary', { table, chain: CANARY_CHAIN, error: errorText(error) });
      }
      return false;
    }
  }
  return true;
}

/** Resolves when the canaries of all tables are gone, or when the signal aborts. */
async function waitForFlush(iptables: Iptables, { clock, log }: UtilChainsDeps, signal: AbortSignal): Promise<void> {
  const [first = 'mangle', ...others] = CANARY_TABLES;
  const isGone = async (table: Table): Promise<boolean> =>
    (await iptables.chainExists(table, CANARY_CHAIN, signal).catch(() => undefined)) === false;
  do await sleep(CHECK_MS, clock, signal);
  while (!signal.aborted && !(await isGone(first)));
  const endsAt = clock.monotonic() + FLUSH_TIMEOUT_MS;
  while (!signal.aborted) {
    const areGone = await Promise.all(others.map(isGone));
    if (areGone.every(Boolean)) return log.info('Reloading after iptables flush', { protocol: iptables.family });
    if (clock.monotonic() >= endsAt) return log.info('Inconsistent iptables state detected');
    await sleep(FLUSH_POLL_MS, clock, signal);
  }
}

async function sleep(ms: number, clock: UtilChainsDeps['clock'], signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch(() => undefined); // aborted
}
