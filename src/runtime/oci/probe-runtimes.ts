import { posix } from 'node:path';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { Log } from '../../base/log.ts';
import type { Host } from '../../host/host.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { createOciRuntime } from './create-oci-runtime.ts';
import { MonitorScope } from './monitor-scope.ts';
import { type OciDeps, stateRootPath } from './oci-deps.ts';
import { type HandlerFeatures, OciError, type OciRuntime, type OciRuntimes } from './oci-runtime.ts';
import { openProbeCache, type ProbeCache } from './probe-cache.ts';
import { type ProbeResult, probeProgram } from './probe-program.ts';
import { createSeccompFilterCache } from './seccomp-filter-cache.ts';

export interface ProbeRuntimesDeps {
  readonly host: Pick<Host, 'clock' | 'fs' | 'fifos' | 'processes' | 'cgroups' | 'packetSockets' | 'systemd'>;
  readonly settings: Pick<RuntimeSettings, 'handlers' | 'pauseProgram' | 'stateDir' | 'monitorScope'>;
  readonly paths: Pick<RuntimePaths, 'ociState' | 'exits' | 'sockets'>;
  readonly log: Log;
  /** `/usr/bin/conmon` by default. */
  readonly monitorProgram?: string;
  /** Tried in this order if no default is configured. */
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

interface WorkingRuntime {
  readonly runtime: OciRuntime;
  readonly features: HandlerFeatures;
}

/** Probe results so far; several handlers may use the same program. */
interface ProbeState {
  readonly cache: ProbeCache;
  readonly probes: Map<string, ProbeResult>;
  readonly working: Map<string, WorkingRuntime>;
}

/**
 * Probes which programs work. The default is the configured one, else the first candidate that works; rejects with
 * `OciError` with all reasons if none works. Any other handler that does not work is logged and omitted.
 */
export async function probeRuntimes(deps: ProbeRuntimesDeps, signal: AbortSignal): Promise<OciRuntimes> {
  const { handlers, stateDir } = deps.settings;
  const defaults = defaultPrograms(deps);
  const others = [...handlers].filter(([name]) => name !== '').sort(([a], [b]) => byCodePoint(a, b));
  const programs = [...new Set([...defaults, ...others.map(([, program]) => program)])];
  const cache = await openProbeCache(`${stateDir}/oci-probe.json`, programs, deps.host.fs);
  const state: ProbeState = { cache, probes: new Map(), working: new Map() };

  const defaultRuntime = await firstWorking(defaults, state, deps, signal);
  const found = new Map<string, WorkingRuntime>([['', defaultRuntime]]);
  // A RuntimeClass may use the program's name too.
  const ownName = posix.basename(defaultRuntime.runtime.program);
  if (!handlers.has(ownName)) found.set(ownName, defaultRuntime);
  for (const [name, program] of others) {
    const result = await probe(program, state, deps, signal);
    if (result.works) found.set(name, runtimeFor(program, result, state, deps));
    else deps.log.error('runtime handler does not work', { handler: name, program, reason: result.reason });
  }
  await saveNewResults(state);
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
  state: ProbeState,
  deps: ProbeRuntimesDeps,
  signal: AbortSignal,
): Promise<WorkingRuntime> {
  const reasons: string[] = [];
  for (const program of programs) {
    const result = await probe(program, state, deps, signal);
    if (result.works) return runtimeFor(program, result, state, deps);
    reasons.push(`${program}: ${result.reason}`);
  }
  throw new OciError(`no working OCI runtime found: ${reasons.join('; ')}`);
}

/** One instance for each program: it is the only writer of the program's cache file. */
function runtimeFor(
  program: string,
  { features, isCrun }: Extract<ProbeResult, { works: true }>,
  { cache, working }: ProbeState,
  deps: ProbeRuntimesDeps,
): WorkingRuntime {
  const known = working.get(program);
  if (known) return known;
  const common = ociDeps(program, deps);
  const path = `${common.stateRoot}-filters.json`;
  const filters = createSeccompFilterCache({ path, stamp: cache.stamp(program), fs: deps.host.fs });
  const made = { runtime: createOciRuntime({ ...common, ...(isCrun && { crun: { filters } }) }), features };
  working.set(program, made);
  return made;
}

async function probe(
  program: string,
  { cache, probes }: ProbeState,
  deps: ProbeRuntimesDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const known = probes.get(program);
  if (known) return known;
  const result = cache.get(program) ?? (await probeUncached(program, deps, signal));
  probes.set(program, result);
  return result;
}

async function probeUncached(program: string, deps: ProbeRuntimesDeps, signal: AbortSignal): Promise<ProbeResult> {
  if ((await deps.host.fs.stat(program)) === undefined) return { works: false, reason: 'not installed' };
  const { pauseProgram, stateDir } = deps.settings;
  return probeProgram({ ...ociDeps(program, deps), pauseProgram, folder: stateDir }, signal);
}

/** Writes the cache unless all results came from it. */
async function saveNewResults({ cache, probes }: ProbeState): Promise<void> {
  if ([...probes.keys()].some((program) => cache.get(program) === undefined)) await cache.put(probes);
}

function ociDeps(program: string, deps: ProbeRuntimesDeps): OciDeps {
  const { host, settings, paths, log, monitorProgram = MONITOR } = deps;
  const { clock, fs, fifos, processes, cgroups, packetSockets, systemd } = host;
  const scope = settings.monitorScope;
  const monitorScope = scope === undefined ? undefined : new MonitorScope(scope, { systemd, clock, log });
  const { exits, sockets } = paths;
  const programPaths = { program, monitorProgram, stateRoot: stateRootPath(paths, program), exits, sockets };
  return {
    ...programPaths,
    clock,
    fs,
    fifos,
    processes,
    cgroups,
    packetSockets,
    ...(monitorScope && { monitorScope }),
  };
}
