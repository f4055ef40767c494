import { posix } from 'node:path';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { Log } from '../../base/log.ts';
import type { Host } from '../../host/host.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { createCompiledFilters } from './compiled-filters.ts';
import { createOciRuntime } from './create-oci-runtime.ts';
import { type OciDeps, stateRootOf } from './oci-deps.ts';
import { type HandlerFeatures, OciError, type OciRuntime, type OciRuntimes } from './oci-runtime.ts';
import { openProbeCache, type ProbeCache } from './probe-cache.ts';
import { type ProbeResult, probeProgram } from './probe-program.ts';

export interface ProbeRuntimesDeps {
  readonly host: Pick<Host, 'clock' | 'fs' | 'fifos' | 'processes' | 'cgroups' | 'packetSockets'>;
  readonly settings: Pick<RuntimeSettings, 'handlers' | 'pauseProgram' | 'stateDir'>;
  readonly paths: Pick<RuntimePaths, 'ociState' | 'exits' | 'sockets'>;
  readonly log: Log;
  /** `/usr/bin/conmon` unless somebody says otherwise. */
  readonly monitorProgram?: string;
  /** Tried in this order when no default is configured. */
  readonly candidates?: readonly string[];
}

const MONITOR = '/usr/bin/conmon';
const CANDIDATES = [
  '/usr/bin/crun',
  '/usr/local/bin/crun',
  '/usr/sbin/runc',
  '/usr/bin/runc',
  '/usr/local/sbin/runc',
  '/usr/local/bin/runc',
];

interface Working {
  readonly runtime: OciRuntime;
  readonly features: HandlerFeatures;
}

/** What is known of programs so far; several handlers may name the same one. */
interface Finds {
  readonly cache: ProbeCache;
  readonly probes: Map<string, ProbeResult>;
  readonly working: Map<string, Working>;
}

/**
 * Finds out which programs work here. The default is the configured one, else the first candidate that works: rejects
 * with an `OciError` that tells of each when there is none. Another handler that does not work is logged and left out.
 */
export async function probeRuntimes(deps: ProbeRuntimesDeps, signal: AbortSignal): Promise<OciRuntimes> {
  const { handlers, stateDir } = deps.settings;
  const asDefault = defaultPrograms(deps);
  const others = [...handlers].filter(([name]) => name !== '').sort(([a], [b]) => byCodePoint(a, b));
  const programs = [...new Set([...asDefault, ...others.map(([, program]) => program)])];
  const cache = await openProbeCache(`${stateDir}/oci-probe.json`, programs, deps.host.fs);
  const finds: Finds = { cache, probes: new Map(), working: new Map() };

  const usual = await firstWorking(asDefault, finds, deps, signal);
  const found = new Map<string, Working>([['', usual]]);
  // A RuntimeClass may name it, too.
  const ownName = posix.basename(usual.runtime.program);
  if (!handlers.has(ownName)) found.set(ownName, usual);
  for (const [name, program] of others) {
    const result = await probed(program, finds, deps, signal);
    if (result.works) found.set(name, workingAs(program, result, finds, deps));
    else deps.log.error('runtime handler does not work', { handler: name, program, reason: result.reason });
  }
  await keepNews(finds);
  return {
    handler: (name) => found.get(name)?.runtime,
    handlers: [...found].map(([name, { features }]) => ({ name, ...features })),
  };
}

function defaultPrograms({ settings, candidates = CANDIDATES }: ProbeRuntimesDeps): readonly string[] {
  const configured = settings.handlers.get('');
  return configured === undefined ? candidates : [configured];
}

async function firstWorking(
  programs: readonly string[],
  finds: Finds,
  deps: ProbeRuntimesDeps,
  signal: AbortSignal,
): Promise<Working> {
  const reasons: string[] = [];
  for (const program of programs) {
    const result = await probed(program, finds, deps, signal);
    if (result.works) return workingAs(program, result, finds, deps);
    reasons.push(`${program}: ${result.reason}`);
  }
  throw new OciError(`no OCI runtime works here: ${reasons.join('; ')}`);
}

/** One for each program: only one may write what is kept of it. */
function workingAs(
  program: string,
  { features, isCrun }: Extract<ProbeResult, { works: true }>,
  { cache, working }: Finds,
  deps: ProbeRuntimesDeps,
): Working {
  const known = working.get(program);
  if (known) return known;
  const common = ociDeps(program, deps);
  const path = `${common.stateRoot}-filters.json`;
  const filters = createCompiledFilters({ path, stamp: cache.stamp(program), fs: deps.host.fs });
  const made = { runtime: createOciRuntime({ ...common, ...(isCrun && { crun: { filters } }) }), features };
  working.set(program, made);
  return made;
}

async function probed(
  program: string,
  { cache, probes }: Finds,
  deps: ProbeRuntimesDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const known = probes.get(program);
  if (known) return known;
  const result = cache.known(program) ?? (await newlyProbed(program, deps, signal));
  probes.set(program, result);
  return result;
}

async function newlyProbed(program: string, deps: ProbeRuntimesDeps, signal: AbortSignal): Promise<ProbeResult> {
  if ((await deps.host.fs.stat(program)) === undefined) return { works: false, reason: 'not installed' };
  const { pauseProgram, stateDir } = deps.settings;
  return probeProgram({ ...ociDeps(program, deps), pauseProgram, folder: stateDir }, signal);
}

/** Nothing is written when all of it was known. */
async function keepNews({ cache, probes }: Finds): Promise<void> {
  if ([...probes.keys()].some((program) => cache.known(program) === undefined)) await cache.keep(probes);
}

function ociDeps(program: string, { host, paths, monitorProgram = MONITOR }: ProbeRuntimesDeps): OciDeps {
  const { clock, fs, fifos, processes, cgroups, packetSockets } = host;
  const { exits, sockets } = paths;
  const places = { program, monitorProgram, stateRoot: stateRootOf(paths, program), exits, sockets };
  return { ...places, clock, fs, fifos, processes, cgroups, packetSockets };
}
