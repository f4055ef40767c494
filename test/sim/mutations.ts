import { CLUSTER_MUTATIONS } from './cluster-mutations.ts';
import { FEATURE_MUTATIONS } from './feature-mutations.ts';
import { change, type Mutation, mutation } from './mutation.ts';

const WORKERS = 'src/kubelet/workers/pod-workers.ts';
const WORKER = 'src/kubelet/workers/pod-worker.ts';
const WORKER_STATE = 'src/kubelet/workers/pod-worker-state.ts';
const ACTIVE_PODS = 'src/kubelet/admission/active-pods.ts';
const SYNC_LOOP = 'src/kubelet/sync-loop.ts';
const SYNCER = 'src/kubelet/sync/create-pod-syncer.ts';
const EXECUTION = 'src/kubelet/sync/execute-pod-plan.ts';
const STARTS = 'src/kubelet/sync/start-containers.ts';
const ACTIONS = 'src/kubelet/sync/compute-pod-actions.ts';
const INIT = 'src/kubelet/sync/plan-init-containers.ts';
const STOP = 'src/kubelet/sync/stop-pod.ts';
const OBSERVED = 'src/kubelet/pleg/observed-pods.ts';
const COLLECTOR = 'src/kubelet/gc/container-collector.ts';
const DEAD = 'src/kubelet/gc/dead-containers.ts';

export const MUTATIONS: readonly Mutation[] = [
  mutation('a grace period grows', WORKER_STATE, 'Math.min(before?.graceSeconds', 'Math.max(before?.graceSeconds'),
  mutation('a pod starts beside its namesake', WORKERS, 'if (queue.length === 0) worker', 'worker'),
  mutation('a pod that came back is forgotten', WORKERS, 'if (worker.successor) this', 'if (!worker) this'),
  mutation('the end of a pod leaves its pass alone', WORKER, 'this.#pass?.abort(', 'void ('),
  mutation('containers are not stopped before they are removed', WORKER, 'await syncer.terminate(', 'void ('),
  mutation('what failed is not tried again', WORKER, 'this.#wakeIn(retryDelay(', 'void (retryDelay('),
  mutation('leftovers end before every source has spoken', SYNC_LOOP, '#deps.sources.every(', '#deps.sources.some('),
  mutation('leftovers get half a minute', SYNC_LOOP, 'ORPHAN_GRACE_SECONDS = 1', 'ORPHAN_GRACE_SECONDS = 30'),
  mutation('leftovers stay', SYNC_LOOP, 'if (!isWanted) workers', 'if (!uid) workers'),
  mutation('init containers count as done', INIT, "? 'done' : 'running'", "? 'done' : 'done'"),
  mutation('init containers of an old sandbox count', EXECUTION, 'await removeInitContainers(', 'void ('),
  mutation(
    'ephemeral containers are started again',
    ACTIONS,
    '!containers.has(name)',
    "!containers.get(name) || containers.get(name)?.state === 'exited'",
  ),
  mutation('success is restarted', ACTIONS, 'view.spec, seen.exitCode)', 'view.spec, seen.exitCode || 1)'),
  mutation('a pod that never restarts gets a new sandbox', ACTIONS, "=== 'Never' && attempt", "=== 'No' && attempt"),
  mutation('a changed definition is ignored', ACTIONS, 'seen.hash !== containerHash(container)', 'seen.hash === ""'),
  mutation('back-off is ignored', STARTS, 'checkCrashBackoff(context, container, deps);', ''),
  mutation(
    'a new sandbox comes beside the old one',
    EXECUTION,
    'await stopPod(pod, observed, specGracePeriod(pod), deps, signal);\n  // In',
    'await stopPod(pod, undefined, specGracePeriod(pod), deps, signal);\n  // In',
  ),
  mutation(
    'nobody looks after an operation',
    SYNCER,
    'await observed.refresh(uid, signal));\n    }',
    'observed.get(uid));\n    }',
  ),
  mutation('resources are not given back', SYNCER, 'await step.release(', 'void ('),
  mutation('containers get no time to end', STOP, 'BigInt(Math.max(MINIMUM_GRACE_SECONDS, left))', '0n'),
  mutation('sandboxes are stopped before their containers', STOP, 'stopOrder(pod, live)', 'stopOrder(pod, [])'),
  mutation('what was seen before a failed look is believed', OBSERVED, 'this.#stale.add(uid);', ''),
  mutation('ends that came early are forgotten', OBSERVED, 'this.#earlyStops.add(id);', ''),
  mutation('dead containers pile up', COLLECTOR, 'container } of dead) {', 'container } of dead.slice(0, 0)) {'),
  mutation('what a worker decides by is removed', DEAD, '.slice(keep)', '.slice(0)'),
  mutation('events are not heard', OBSERVED, 'await this.#refreshOrNotify(uid, signal);', ''),
  {
    name: 'a terminal phase is left',
    changes: [
      change('src/kubelet/status/status-store.ts', '!isTerminal(before.phase)', 'before.phase'),
      change(
        'src/kubelet/status/compute-pod-status.ts',
        'if (isTerminal(final)) return final;',
        'if (!final) continue;',
      ),
    ],
  },
  {
    name: 'a pod that is replaced counts against its replacement',
    changes: [
      change(ACTIVE_PODS, 'if (removed) return successor', 'if (!worker) return successor'),
      change(ACTIVE_PODS, 'podFullName(other) !== fullName', 'other !== pod'),
    ],
  },
  mutation('a pod that came back is not admitted again', SYNC_LOOP, 'if (!this.#closed) this.#add(pod)', 'void pod'),
  ...FEATURE_MUTATIONS,
  ...CLUSTER_MUTATIONS,
];
