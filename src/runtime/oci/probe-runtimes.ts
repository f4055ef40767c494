import { posix } from 'node:path';
import { byCodePoint } from '../../base/code-point-order.ts';
import type { Log } from '../../base/log.ts';
import type { Host } from '../../host/host.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import { DEFAULT_HANDLER, type HandlerSettings, type RuntimeSettings } from '../settings/runtime-settings.ts';
import { createOciRuntime } from './create-oci-runtime.ts';
import { MonitorScope } from './monitor-scope.ts';
import { type CrunFastPath, type OciDeps, stateRootPath } from './oci-deps.ts';
import {
  type HandlerFeatures,
  OciError,
  type OciRuntime,
  type OciRuntimes,
  type RuntimeIdentity,
} from './oci-runtime.ts';
import { openProbeCache, type ProbeCache } from './probe-cache.ts';
import { type ProbeResult, probeProgram } from './probe-program.ts';
import { createSeccompFilterCache, type SeccompFilterCache } from './seccomp-filter-cache.ts';
import { traceOciRuntime } from './trace-oci-runtime.ts';

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

interface WorkingHandler {
  readonly runtime: OciRuntime;
  readonly features: HandlerFeatures;
  readonly settings: HandlerSettings;
}

/** Results so far; several handlers may use the same program. */
interface ProbeState {
  readonly cache: ProbeCache;
  readonly probes: Map<string, ProbeResult>;
  /** By program: the only writer of the program's cache file. */
  readonly filters: Map<string, SeccompFilterCache>;
  /** By program and state directory. */
  readonly runtimes: Map<string, OciRuntime>;
}

/**
 * Probes which programs work. The default is the configured one, else the first candidate that works; rejects with
 * `OciError` with all reasons if none works. Any other handler that does not work is logged and omitted.
 */
export async function probeRuntimes(deps: ProbeRuntimesDeps, signal: AbortSignal): Promise<OciRuntimes> {
  const { handlers, stateDir } = deps.settings;
  const defaults = defaultPrograms(deps);
  const others = [...handlers].filter(([name]) => name !== '').sort(([a], [b]) => byCodePoint(a, b));
  const programs = [...defaults, ...others.flatMap(([, { program }]) => program ?? [])];
  const cache = await openProbeCache(`${stateDir}/oci-probe.json`, [...new Set(programs)], deps.host.fs);
  const state: ProbeState = { cache, probes: new Map(), filters: new Map(), runtimes: new Map() };

  const defaultHandler = await firstWorking(defaults, state, deps, signal);
  const found = new Map<string, WorkingHandler>([['', defaultHandler]]);
  // A RuntimeClass may use the program's name too.
  const ownName = posix.basename(defaultHandler.runtime.program);
  if (!handlers.has(ownName)) found.set(ownName, defaultHandler);
  for (const [name, settings] of others) {
    const { program = defaultHandler.runtime.program } = settings;
    const result = await probe(program, state, deps, signal);
    if (result.works) found.set(name, workingHandler(program, settings, result, state, deps));
    else deps.log.error('runtime handler does not work', { handler: name, program, reason: result.reason });
  }
  await saveNewResults(state);
  return {
    handler: (name) => found.get(name)?.runtime,
    at: (identity) => runtimeAt(identity, state, deps),
    handlers: [...found].map(([name, { features, settings }]) => ({ name, ...features, settings })),
  };
}

function defaultPrograms({ settings, candidates = CANDIDATES }: ProbeRuntimesDeps): readonly string[] {
  const configured = settings.handlers.get('')?.program;
  return configured === undefined ? candidates : [configured];
}

async function firstWorking(
  programs: readonly string[],
  state: ProbeState,
  deps: ProbeRuntimesDeps,
  signal: AbortSignal,
): Promise<WorkingHandler> {
  const settings = deps.settings.handlers.get('') ?? DEFAULT_HANDLER;
  const reasons: string[] = [];
  for (const program of programs) {
    const result = await probe(program, state, deps, signal);
    if (result.works) return workingHandler(program, settings, result, state, deps);
    reasons.push(`${program}: ${result.reason}`);
  }
  throw new OciError(`no working OCI runtime found: ${reasons.join('; ')}`);
}

/** Handlers with the same program and state directory share one instance. */
function workingHandler(
  program: string,
  settings: HandlerSettings,
  { features, isCrun }: Extract<ProbeResult, { works: true }>,
  state: ProbeState,
  deps: ProbeRuntimesDeps,
): WorkingHandler {
  const common = ociDeps(program, deps);
  const { runtimeRoot: stateRoot = common.stateRoot } = settings;
  const crun = isCrun ? { filters: filtersOf(common, state) } : undefined;
  return { runtime: runtimeAt({ program, stateRoot }, state, deps, crun), features, settings };
}

/** Creates it on the first call. Without `crun`, every command is run by the program: that works for crun too. */
function runtimeAt(
  { program, stateRoot }: RuntimeIdentity,
  { runtimes }: ProbeState,
  deps: ProbeRuntimesDeps,
  crun?: CrunFastPath,
): OciRuntime {
  const key = `${program} ${stateRoot}`;
  const runtime =
    runtimes.get(key) ??
    traceOciRuntime(createOciRuntime({ ...ociDeps(program, deps), stateRoot, ...(crun && { crun }) }));
  runtimes.set(key, runtime);
  return runtime;
}

function filtersOf({ program, stateRoot, fs }: OciDeps, { cache, filters }: ProbeState): SeccompFilterCache {
  const path = `${stateRoot}-filters.json`;
  const known = filters.get(program) ?? createSeccompFilterCache({ path, stamp: cache.stamp(program), fs });
  filters.set(program, known);
  return known;
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
