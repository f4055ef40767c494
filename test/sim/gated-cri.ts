import { CriError } from '../../src/cri/cri-error.ts';
import { deadlineFor } from '../../src/cri/deadlines.ts';
import { buildCri, type Cri, type CriMethod, type ErasedUnary, erasedCalls } from '../../src/cri/services.ts';
import type { Draw } from './draw.ts';
import { type Gate, never } from './gate.ts';
import type { PendingFaults } from './pending-faults.ts';
import type { RpcFault } from './plan-faults.ts';

const REQUEST_TIMEOUT_MS = 120_000;

/** Calls during which the runtime waits: they are cancelled when the caller is gone. */
const WAITS: ReadonlySet<CriMethod> = new Set<CriMethod>(['stopContainer', 'pullImage', 'execSync']);
/** Read-only calls have latency less often. */
const CHANGES = /^(run|create|start|stop|remove|pull)/;

const LISTS: ReadonlySet<CriMethod> = new Set<CriMethod>(['listContainers', 'listPodSandbox']);
const LIST_FAULT: RpcFault = { kind: 'before', code: 'Unavailable', delayMs: 0 };

export interface GatedCriDeps {
  readonly gate: Gate;
  readonly faults: PendingFaults;
  /** Draws the latency of calls without a fault. */
  readonly pace: Draw;
  /** The agent is killed at this call. */
  readonly onKill: (downMs: number) => void;
  /** Runs before a call has any effect. */
  readonly onCall: (method: CriMethod, request: unknown) => void;
}

/** The runtime as one agent process sees it: behind a gate, with kubelet's deadlines, with latency and faults. */
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
        return calls.stream(method)(request, AbortSignal.any([signal, gate.closed]));
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
  const listFails = gate.clock.monotonic() < faults.listsFailUntilMs && LISTS.has(method);
  const fault = listFails ? LIST_FAULT : faults.takeRpc(method);
  await beforeEffect(fault, method, request, deps, signal);
  const response = await inner(request, WAITS.has(method) ? AbortSignal.any([signal, gate.closed]) : signal);
  await pause(method, deps, signal);
  if (fault?.kind === 'after') {
    if (method === 'pullImage') faults.hasLostPull = true;
    faults.listsFailUntilMs = gate.clock.monotonic() + fault.listsFailMs;
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
    case 'kill':
      deps.onKill(fault.downMs);
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
