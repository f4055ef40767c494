import { type Mutation, mutation } from './mutation.ts';

const LEASE = 'src/kubelet/node/lease/node-lease.ts';
const NODE_WRITER = 'src/kubelet/node/status/node-status-writer.ts';
const NODE_PATCH = 'src/kubelet/node/status/node-patch.ts';
const NODE_CONDITIONS = 'src/kubelet/node/status/node-conditions.ts';
const REGISTER = 'src/kubelet/node/lifecycle/register-node.ts';
const READINESS = 'src/kubelet/node/status/runtime-readiness.ts';
const OWN_NODE = 'src/kubelet/node/node-cache.ts';
const COMPOSE = 'src/kubelet/node/status/compose-node.ts';
const GATHER = 'src/kubelet/node/status/gather-node.ts';
const PRESSURE = 'src/kubelet/eviction/pressure-state.ts';
const EVICTION = 'src/kubelet/eviction/eviction-manager.ts';
const STATUS_WRITER = 'src/kubelet/status/status-writer.ts';
const MERGE_STATUS = 'src/kubelet/status/merge-pod-status.ts';
const MIRRORS = 'src/kubelet/sources/mirror-pods.ts';
const MIRROR_WRITER = 'src/kubelet/sources/mirror-writer.ts';
const FOLLOW = 'src/kubelet/api-client/reflector.ts';
const EVENTS = 'src/kubelet/events/event-writer.ts';
const TOKENS = 'src/kubelet/tokens/service-account-tokens.ts';
const ROTATION = 'src/kubelet/certificates/certificate-rotation.ts';
const STORE = 'src/kubelet/certificates/certificate-store.ts';

/** Defects in the parts that make a machine a node of a cluster. */
export const CLUSTER_MUTATIONS: readonly Mutation[] = [
  mutation('a lease is renewed only twice in its duration', LEASE, 'RENEWALS_PER_LEASE = 4', 'RENEWALS_PER_LEASE = 2'),
  mutation(
    'lease renewal does not resume after an outage',
    LEASE,
    'maxMs: 7_000, jitter: 0 }',
    'maxMs: 7_000_000, jitter: 0 }',
  ),
  mutation('the lease has no owner reference', LEASE, '{ ownerReferences: [owner] }', '{}'),
  mutation(
    'an unchanged node status is never written',
    NODE_WRITER,
    'if (!isChanged && !this.#isOverdue()) {',
    'if (!isChanged) {',
  ),
  mutation(
    'runtime readiness changes notify no listener',
    READINESS,
    'for (const listener of this.#listeners) listener();',
    '',
  ),
  mutation(
    'an unresponsive runtime is reported as ready',
    READINESS,
    "return isOver ? 'container runtime is down' : undefined;",
    'return isOver ? undefined : undefined;',
  ),
  mutation(
    'lastTransitionTime changes with every write',
    NODE_CONDITIONS,
    'isSame ? wasReady.lastTransitionTime : now',
    'isSame ? now : now',
  ),
  mutation(
    'lastTransitionTime never changes',
    NODE_CONDITIONS,
    'isSame ? wasReady.lastTransitionTime : now',
    'wasReady?.lastTransitionTime ?? now',
  ),
  mutation('node conditions of other clients are dropped', NODE_CONDITIONS, '?? each);', '?? wanted[0] ?? each);'),
  mutation('node labels of other clients are dropped', COMPOSE, 'labels: { ...metadata.labels, ', 'labels: { '),
  mutation('watch events of the node are ignored', OWN_NODE, 'else this.onObserved(object);', ''),
  mutation(
    'a node registers while another machine holds its lease',
    REGISTER,
    'if (leftMs <= 0) return undefined;',
    'if (leftMs >= 0) return undefined;',
  ),
  mutation(
    'an existing node object fails registration',
    REGISTER,
    "isApiError(error, 'AlreadyExists', 'Forbidden')",
    "isApiError(error, 'Forbidden')",
  ),
  mutation(
    'node images are listed only once',
    GATHER,
    'if (this.#images && nowMs - this.#images.atMs < IMAGES_MS)',
    'if (this.#images)',
  ),
  mutation('critical pods are evicted', EVICTION, 'if (isCriticalPod(pod)) {', 'if (pod.metadata.uid === "") {'),
  mutation(
    'pods are evicted without pressure',
    EVICTION,
    'const [threshold] = update.due;',
    'const [threshold] = update.thresholds;',
  ),
  mutation(
    'an evicted pod is not shown as evicted',
    EVICTION,
    'pods.kill(uid, { graceSeconds, failure })',
    'pods.kill(uid, { graceSeconds, failure: { ...failure, reason: "Error" } })',
  ),
  mutation('disk pressure never ends', PRESSURE, 'nowMs - seenMs < transitionMs', 'nowMs >= seenMs'),
  mutation(
    'node addresses are merged instead of replaced',
    NODE_PATCH,
    'if (was.length === 0 || isSame(was, is)) return {};',
    'if (was || is) return {};',
  ),
  mutation(
    'pods are deleted without a UID precondition',
    STATUS_WRITER,
    '{ uid: pod.metadata.uid, graceSeconds: 0 }, signal);',
    '{ graceSeconds: 0 }, signal);',
  ),
  mutation(
    'pods are deleted while their containers run',
    STATUS_WRITER,
    '|| !this.#deps.podCanBeDeleted(uid)) return;',
    ') return;',
  ),
  mutation(
    'foreign changes of a pod status are not corrected',
    STATUS_WRITER,
    'if (version === found.version && statusesAgree(before, after)) return pod;',
    'if (version === found.version) return pod;',
  ),
  mutation(
    'pod conditions of other clients are dropped',
    MERGE_STATUS,
    '(OWN_CONDITIONS.includes(condition.type) ? [] : condition)',
    '[]',
  ),
  mutation(
    'a terminal phase is written while containers run',
    MERGE_STATUS,
    'isTerminal(own.phase) && mayRun;',
    'isTerminal(own.phase) && !mayRun;',
  ),
  mutation(
    'a deleted mirror pod is not recreated',
    MIRRORS,
    'mirror.metadata.deletionTimestamp !== undefined || !isMirrorOf(mirror, pod)',
    '!isMirrorOf(mirror, pod)',
  ),
  mutation('mirror pods are recreated in every pass', MIRRORS, 'mirror && isOutdated(mirror, pod)', 'mirror'),
  mutation('failed mirror pod writes are not retried', MIRROR_WRITER, 'changes.notify();\n      log', 'log'),
  mutation(
    'an outage empties the watched objects',
    FOLLOW,
    "log.warn('cannot list and watch objects",
    "handler.onList([]);\n      log.warn('cannot list and watch objects",
  ),
  mutation(
    'events are never created',
    EVENTS,
    "if (write.kind === 'create') return api.create(key, event, signal);",
    "if (write.kind === 'create') return event;",
  ),
  mutation('tokens are not renewed', TOKENS, 'if (nowMs > held.renewMs &&', 'if (nowMs > held.expiresMs &&'),
  mutation('tokens are renewed too late', TOKENS, 'expiresMs - lifeMs / 5', 'expiresMs - lifeMs / 500'),
  mutation('certificates are renewed too late', ROTATION, '(0.7 + 0.2 * fraction)', '(1.7 + 0.2 * fraction)'),
  mutation('a certificate is stored without its key', STORE, 'held.certificate + held.key', 'held.certificate'),
];
