import { CriError } from '../../src/cri/cri-error.ts';
import { deadlineFor } from '../../src/cri/deadlines.ts';
import { buildCri, type Cri, type CriMethod, type ErasedUnary, erasedCalls } from '../../src/cri/services.ts';
import type { Draw } from './draw.ts';
import type { FaultBox } from './fault-box.ts';
import { type Gate, never } from './gate.ts';
import type { RpcFault } from './plan-faults.ts';

const REQUEST_TIMEOUT_MS = 120_000;

/** Calls during which the runtime waits for something, so that it matters to it whether the caller is still there. */
const WAITS: ReadonlySet<CriMethod> = new Set<CriMethod>(['stopContainer', 'pullImage', 'execSync']);
/** Calls that change nothing are quick more often. */
const CHANGES = /^(run|create|start|stop|remove|pull)/;

const LISTS: ReadonlySet<CriMethod> = new Set<CriMethod>(['listContainers', 'listPodSandbox']);
const BLIND: RpcFault = { kind: 'before', code: 'Unavailable', delayMs: 0 };

export interface GatedCriDeps {
  readonly gate: Gate;
  readonly faults: FaultBox;
  /** Of how long calls take when nothing is wrong. */
  readonly pace: Draw;
  /** The agent dies at a call that it makes. */
  readonly onDeath: (downMs: number) => void;
  /** The agent makes a call, and nothing has come of it yet. */
  readonly onCall: (method: CriMethod, request: unknown) => void;
}

/** The runtime as one life of the agent sees it: behind a gate, with kubelet's deadlines, slow at times, and failing. */
export function gatedCri(cri: Cri, deps: GatedCriDeps): Cri {
  const calls = erasedCalls(cri);
  const { gate, faults, onCall } = deps;
  return buildCri({
    unary: (method) => {
      const inner = calls.unary(method);
      return (request, signal) =>
        gate.pass(() => {
          signal.throwIfAborted();
          onCall(method.key, request);
          return call(method.key, inner, request, deps, signal);
        });
    },
    stream: (method) => (request, signal) =>
      gate.follow(() => {
        if (faults.isRuntimeDown) throw new CriError('Unavailable', 'the runtime is down');
        return calls.stream(method)(request, AbortSignal.any([signal, gate.shut]));
      }),
  });
}

async function call(
  method: CriMethod,
  inner: ErasedUnary,
  request: unknown,
  deps: GatedCriDeps,
  signal: AbortSignal,
): Promise<unknown> {
  const { faults, gate } = deps;
  const isBlind = gate.clock.monotonic() < faults.blindUntilMs && LISTS.has(method);
  const fault = isBlind ? BLIND : faults.takeRpc(method);
  await beforeEffect(fault, method, request, deps, signal);
  const response = await inner(request, WAITS.has(method) ? AbortSignal.any([signal, gate.shut]) : signal);
  await pause(method, deps, signal);
  if (fault?.kind === 'after') {
    if (method === 'pullImage') faults.hasLostPull = true;
    faults.blindUntilMs = gate.clock.monotonic() + fault.blindMs;
    await fail(fault, deps, signal);
  }
  return response;
}

async function beforeEffect(
  fault: RpcFault | undefined,
  method: CriMethod,
  request: unknown,
  deps: GatedCriDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = deps.gate;
  switch (fault?.kind) {
    case undefined:
    case 'after':
      return pause(method, deps, signal);
    case 'before':
      return fail(fault, deps, signal);
    case 'slow':
      return clock.sleep(fault.ms, signal);
    case 'death':
      deps.onDeath(fault.downMs);
      return never();
    case 'hang':
      await clock.sleep(deadlineFor(method, request, REQUEST_TIMEOUT_MS) ?? REQUEST_TIMEOUT_MS, signal);
      throw new CriError('DeadlineExceeded', 'context deadline exceeded');
  }
}

async function fail(
  { code, delayMs }: Extract<RpcFault, { kind: 'before' | 'after' }>,
  { gate }: GatedCriDeps,
  signal: AbortSignal,
): Promise<never> {
  if (delayMs > 0) await gate.clock.sleep(delayMs, signal);
  throw new CriError(code, 'simulated');
}

async function pause(method: CriMethod, { pace, gate }: GatedCriDeps, signal: AbortSignal): Promise<void> {
  if (pace.chance(CHANGES.test(method) ? 0.4 : 0.05)) await gate.clock.sleep(pace.int(1, 50), signal);
}
