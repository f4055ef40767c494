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
const PRESSURE = 'src/kubelet/node/signals/node-pressure.ts';
const STATUS_WRITER = 'src/kubelet/status/status-writer.ts';
const MERGE_STATUS = 'src/kubelet/status/merge-pod-status.ts';
const MIRRORS = 'src/kubelet/sources/mirror-pods.ts';
const MIRROR_WRITER = 'src/kubelet/sources/mirror-writer.ts';
const FOLLOW = 'src/kubelet/api-client/reflector.ts';
const EVENTS = 'src/kubelet/events/event-writer.ts';
const TOKENS = 'src/kubelet/tokens/service-account-tokens.ts';
const TOKEN_LIFE = 'src/kubelet/tokens/token-life.ts';
const ROTATION = 'src/kubelet/certificates/certificate-rotation.ts';
const STORE = 'src/kubelet/certificates/certificate-store.ts';

/** Mistakes in what makes a machine a node of a cluster. */
export const CLUSTER_MUTATIONS: readonly Mutation[] = [
  mutation('leases are renewed twice in their life', LEASE, 'RENEWALS_PER_LEASE = 4', 'RENEWALS_PER_LEASE = 2'),
  mutation(
    'an outage ends the renewal of the lease',
    LEASE,
    'maxMs: 7_000, jitter: 0 }',
    'maxMs: 7_000_000, jitter: 0 }',
  ),
  mutation('a lease belongs to nobody', LEASE, '{ ownerReferences: [owner] }', '{}'),
  mutation(
    'a node that is as it was is not written',
    NODE_WRITER,
    'if (!isNews && !this.#isOverdue()) return;',
    'if (!isNews) return;',
  ),
  mutation('the runtime wakes nobody', READINESS, 'for (const listener of this.#listeners) listener();', ''),
  mutation(
    'a silent runtime is ready',
    READINESS,
    "return isOver ? 'container runtime is down' : undefined;",
    'return isOver ? undefined : undefined;',
  ),
  mutation(
    'conditions are always new',
    NODE_CONDITIONS,
    'isSame ? wasReady.lastTransitionTime : now',
    'isSame ? now : now',
  ),
  mutation(
    'conditions are never new',
    NODE_CONDITIONS,
    'isSame ? wasReady.lastTransitionTime : now',
    'wasReady?.lastTransitionTime ?? now',
  ),
  mutation('the conditions of others are dropped', NODE_CONDITIONS, '?? each);', '?? wanted[0] ?? each);'),
  mutation('the labels of others are dropped', COMPOSE, 'labels: { ...metadata.labels, ', 'labels: { '),
  mutation('the watch of the node tells nothing', OWN_NODE, 'else this.seen(object);', ''),
  mutation(
    'a node is registered over another machine',
    REGISTER,
    'if (leftMs <= 0) return undefined;',
    'if (leftMs >= 0) return undefined;',
  ),
  mutation(
    'a node is registered once at most',
    REGISTER,
    "isApiError(error, 'AlreadyExists', 'Forbidden')",
    "isApiError(error, 'Forbidden')",
  ),
  mutation(
    'images are listed once',
    GATHER,
    'if (this.#images && nowMs - this.#images.atMs < IMAGES_MS)',
    'if (this.#images)',
  ),
  mutation('pressure stays', PRESSURE, 'nowMs - seenMs < transitionMs', 'nowMs >= seenMs'),
  mutation(
    'the address of the node is merged',
    NODE_PATCH,
    'if (was.length === 0 || isSame(was, is)) return {};',
    'if (was || is) return {};',
  ),
  mutation(
    'pods are deleted whoever has their name',
    STATUS_WRITER,
    '{ uid: pod.metadata.uid, graceSeconds: 0 }, signal);',
    '{ graceSeconds: 0 }, signal);',
  ),
  mutation(
    'pods are deleted while they run',
    STATUS_WRITER,
    '|| !this.#deps.podCanBeDeleted(uid)) return;',
    ') return;',
  ),
  mutation(
    'what others say of pods is not put right',
    STATUS_WRITER,
    'if (version === found.version && statusesAgree(before, after)) return pod;',
    'if (version === found.version) return pod;',
  ),
  mutation(
    'what others say of pods is dropped',
    MERGE_STATUS,
    '(OWN_CONDITIONS.includes(condition.type) ? [] : condition)',
    '[]',
  ),
  mutation(
    'a phase is told while containers run',
    MERGE_STATUS,
    'isTerminal(own.phase) && mayRun;',
    'isTerminal(own.phase) && !mayRun;',
  ),
  mutation(
    'a mirror that somebody deletes stays away',
    MIRRORS,
    'mirror.metadata.deletionTimestamp !== undefined || !isMirrorOf(mirror, pod)',
    '!isMirrorOf(mirror, pod)',
  ),
  mutation('mirrors are made anew again and again', MIRRORS, 'mirror && isOutdated(mirror, pod)', 'mirror'),
  mutation('mirrors that could not be written are forgotten', MIRROR_WRITER, 'bell.ring();\n      await', 'await'),
  mutation(
    'an outage takes the pods away',
    FOLLOW,
    "log.warn('cannot follow objects",
    "keeper.listed([]);\n      log.warn('cannot follow objects",
  ),
  mutation(
    'events are not written',
    EVENTS,
    "if (write.kind === 'create') return api.create(key, event, signal);",
    "if (write.kind === 'create') return event;",
  ),
  mutation('tokens are not renewed', TOKENS, 'if (nowMs > held.renewMs &&', 'if (nowMs > held.expiresMs &&'),
  mutation('tokens are renewed late', TOKEN_LIFE, 'expiresMs - lifeMs / 5', 'expiresMs - lifeMs / 500'),
  mutation('certificates are renewed late', ROTATION, '(0.7 + 0.2 * fraction)', '(1.7 + 0.2 * fraction)'),
  mutation('a certificate is stored without its key', STORE, 'held.certificate + held.key', 'held.certificate'),
];
