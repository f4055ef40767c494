/** Probes and lifecycle hooks. */
import { httpHeaderNameErrors, portNameErrors, portNumberErrors } from '../../base/name-syntax.ts';
import type { Container, HTTPGetAction, IntOrString, Lifecycle, PodSpec, Probe } from '../generated/core-v1.ts';
import { LINUX_SIGNALS } from '../stop-signals.ts';
import { type FieldErrors, forbidden, invalid, invalidFor, notNegative, oneOf, required } from './field-error.ts';

/** What a container may have that lives as long as its pod: probes and hooks. */
export function* validateHooksAndProbes(path: string, container: Container, spec: PodSpec): FieldErrors {
  const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  if (lifecycle) yield* validateLifecycle(`${path}.lifecycle`, lifecycle, spec);
  if (livenessProbe) yield* validateRestartingProbe(`${path}.livenessProbe`, livenessProbe);
  if (readinessProbe) yield* validateReadinessProbe(`${path}.readinessProbe`, readinessProbe);
  if (startupProbe) yield* validateRestartingProbe(`${path}.startupProbe`, startupProbe);
}

function* validateRestartingProbe(path: string, probe: Probe): FieldErrors {
  yield* validateProbe(path, probe);
  if (probe.successThreshold !== 1) yield invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
}

function* validateReadinessProbe(path: string, probe: Probe): FieldErrors {
  yield* validateProbe(path, probe);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined) {
    yield invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes');
  }
}

function* validateProbe(path: string, probe: Probe): FieldErrors {
  yield* validateHandler(path, probe, undefined);
  yield* notNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds);
  yield* notNegative(`${path}.timeoutSeconds`, probe.timeoutSeconds);
  yield* notNegative(`${path}.periodSeconds`, probe.periodSeconds);
  yield* notNegative(`${path}.successThreshold`, probe.successThreshold);
  yield* notNegative(`${path}.failureThreshold`, probe.failureThreshold);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    yield invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
  }
}

function* validateLifecycle(path: string, lifecycle: Lifecycle, spec: PodSpec): FieldErrors {
  const { postStart, preStop, stopSignal } = lifecycle;
  const grace = spec.terminationGracePeriodSeconds;
  if (postStart) yield* validateHandler(`${path}.postStart`, postStart, grace);
  if (preStop) yield* validateHandler(`${path}.preStop`, preStop, grace);
  if (stopSignal === undefined) return;
  if (!spec.os) {
    yield forbidden(`${path}.stopSignal`, 'may not be set for containers with empty `spec.os.name`');
  } else if (spec.os.name === 'linux') {
    yield* oneOf(`${path}.stopSignal`, stopSignal, LINUX_SIGNALS);
  }
}

interface Handler {
  readonly exec?: { readonly command?: readonly string[] | undefined } | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly tcpSocket?: { readonly port: IntOrString } | undefined;
  readonly grpc?: { readonly port: number } | undefined;
  readonly sleep?: { readonly seconds: number } | undefined;
}

/** Exactly one way of asking. */
function* validateHandler(path: string, handler: Handler, graceSeconds: number | undefined): FieldErrors {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const given = Object.entries({ exec, httpGet, tcpSocket, grpc, sleep }).flatMap(([name, it]) => (it ? [name] : []));
  const [first, ...others] = given;
  if (first === undefined) return yield required(path, 'must specify a handler type');
  const at = `${path}.${first}`;
  if (first === 'exec' && (exec?.command ?? []).length === 0) yield required(`${at}.command`);
  if (first === 'httpGet' && httpGet) yield* validateHttpGet(at, httpGet);
  if (first === 'tcpSocket' && tcpSocket) yield* validatePort(`${at}.port`, tcpSocket.port);
  if (first === 'grpc' && grpc) yield* validatePort(`${at}.port`, grpc.port);
  if (first === 'sleep' && sleep) yield* validateSleep(at, sleep.seconds, graceSeconds);
  for (const other of others) yield forbidden(`${path}.${other}`, 'may not specify more than 1 handler type');
}

function* validateHttpGet(path: string, { path: target, port, scheme, httpHeaders = [] }: HTTPGetAction): FieldErrors {
  if (!target) yield required(`${path}.path`);
  yield* validatePort(`${path}.port`, port);
  yield* oneOf(`${path}.scheme`, scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name } of httpHeaders) yield* invalidFor(`${path}.httpHeaders`, name, httpHeaderNameErrors(name));
}

function* validatePort(path: string, port: IntOrString): FieldErrors {
  yield* invalidFor(path, port, typeof port === 'number' ? portNumberErrors(port) : portNameErrors(port));
}

function* validateSleep(path: string, seconds: number, graceSeconds: number | undefined): FieldErrors {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return;
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`;
  yield invalid(path, seconds, detail);
}
