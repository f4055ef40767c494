import { change, type Mutation, mutation } from './mutation.ts';

const WATCHED = 'src/kubelet/objects/watched-object.ts';
const MANIFEST_OBJECTS = 'src/kubelet/objects/manifest-objects.ts';
const CONTENT = 'src/kubelet/volumes/content-plugins.ts';
const WRITE = 'src/kubelet/volumes/write-content.ts';
const NODE_VOLUMES = 'src/kubelet/volumes/node-volumes.ts';
const CSI_TEAR_DOWN = 'src/kubelet/volumes/csi/tear-down-volume.ts';
const CSI_PUBLISH = 'src/kubelet/volumes/csi/publish-volume.ts';
const RELEASE = 'src/kubelet/volumes/release-volumes.ts';
const FS_GROUP = 'src/kubelet/volumes/fs-group.ts';
const EMPTY_DIR = 'src/kubelet/volumes/empty-dir.ts';
const ENVIRONMENT = 'src/kubelet/sync/config/environment.ts';
const PRE_STOP = 'src/kubelet/hooks/pre-stop.ts';
const POST_START = 'src/kubelet/sync/post-start.ts';
const STARTS = 'src/kubelet/sync/start-containers.ts';
const STOP = 'src/kubelet/sync/stop-pod.ts';
const ACTIONS = 'src/kubelet/sync/compute-pod-actions.ts';
const REMOVAL = 'src/kubelet/sync/plan-removal.ts';
const TCP_PROBE = 'src/kubelet/probes/check-tcp.ts';
const HTTP_PROBE = 'src/kubelet/probes/check-http.ts';
const GRPC_PROBE = 'src/kubelet/probes/check-grpc.ts';
const IMAGES_IN_USE = 'src/kubelet/gc/images-in-use.ts';
const JUDGE_IMAGE = 'src/kubelet/images/image-access.ts';
const PULL_SECRETS = 'src/kubelet/images/pull-secrets.ts';
const ROTATE = 'src/kubelet/logs/rotate-log.ts';
const ROTATION = 'src/kubelet/logs/log-rotation.ts';
const LOG_LINKS = 'src/kubelet/logs/log-links.ts';
const DEAD_CONTAINER = 'src/kubelet/gc/remove-dead-container.ts';
const COLLECTOR = 'src/kubelet/gc/container-collector.ts';
const STATUS_WRITER = 'src/kubelet/status/status-writer.ts';
const MIRRORS = 'src/kubelet/sources/mirror-pods.ts';

/** Defects in volumes, hooks, probes, images and logs, and in the writes to the API server. */
export const FEATURE_MUTATIONS: readonly Mutation[] = [
  mutation('a changed object wakes no pod worker', WATCHED, 'this.#deps.onChange();', 'void 0;'),
  mutation('a changed object of a manifest wakes no pod worker', MANIFEST_OBJECTS, 'this.#deps.onChange(', 'void ('),
  mutation('volumes are not updated', CONTENT, 'if (areSameSources(sources, this.#sources)) ', ''),
  mutation(
    'a failed volume write counts as written',
    CONTENT,
    'await writeContent(this.#path, content, pod.spec.securityContext?.fsGroup, this.#deps);',
    'await writeContent(this.#path, content, pod.spec.securityContext?.fsGroup, this.#deps).catch(() => undefined);',
  ),
  mutation(
    'volume content is written in place',
    WRITE,
    'versionName(clock.now(), random)',
    "'..2026_01_01_00_00_00.1'",
  ),
  mutation(
    'volumes are not given to their group',
    FS_GROUP,
    'await fs.setTreeGroup(path, groupAccess(',
    'void (path, groupAccess(',
  ),
  mutation(
    'a volume that could not be given to its group is used',
    EMPTY_DIR,
    'await setVolumeOwnership(fs, path, fsGroup);',
    'await setVolumeOwnership(fs, path, fsGroup).catch(() => undefined);',
  ),
  mutation(
    'a shared volume is unstaged with its first pod',
    NODE_VOLUMES,
    'if (users && [...users].some((each) => each !== podUid)) {',
    'if (!users) {',
  ),
  mutation(
    'volumes are unstaged before they are unpublished',
    CSI_TEAR_DOWN,
    'if (data) await unpublish(data, volume.podUid, paths, deps, signal);',
    '',
  ),
  mutation(
    'what is published is not recorded',
    CSI_PUBLISH,
    'await saveVolumeData(paths.data, podVolumeData(volume, csi.nodeName), fs);',
    '',
  ),
  mutation('volumes stay mounted', RELEASE, 'await waitForAll(group.map((path) => deps.mounts.unmount(path)));', ''),
  mutation(
    'variables of a missing object are omitted',
    ENVIRONMENT,
    'if (answer?.isMissing && optional)',
    'if (answer?.isMissing)',
  ),
  mutation(
    'preStop hooks run twice',
    PRE_STOP,
    'const outcome = await runHook(',
    'await runHook(preStop, subject, hooks, signal);\n    const outcome = await runHook(',
  ),
  mutation('preStop hooks do not run', PRE_STOP, 'if (!subject || !preStop ||', 'if (true ||'),
  mutation('preStop hooks have no timeout', PRE_STOP, 'waitUntil(ending.graceSeconds * 1000', 'waitUntil(1e9'),
  mutation(
    'preStop hooks do not count against the grace period',
    STOP,
    'Math.ceil((endsAt - clock.monotonic()) / 1000)',
    'graceSeconds',
  ),
  mutation(
    'a failed postStart hook is ignored',
    POST_START,
    "if (outcome.kind === 'failed')",
    "if (outcome.kind === 'never')",
  ),
  mutation('a container whose postStart hook failed keeps running', POST_START, 'await killContainer(', 'void ('),
  mutation(
    'container starts do not wait for postStart hooks',
    STARTS,
    '?.lifecycle?.postStart) gate = started;',
    '?.lifecycle?.postStart) void gate;',
  ),
  mutation(
    'ephemeral containers are not started',
    ACTIONS,
    'return missing.map(({ name })',
    'return missing.slice(0, 0).map(({ name })',
  ),
  mutation(
    'main containers are not restarted with the pod',
    REMOVAL,
    '[of(mains, false), of(inits, false),',
    '[of(inits, false),',
  ),
  mutation(
    'init containers are not restarted with the pod',
    REMOVAL,
    '[of(mains, false), of(inits, false),',
    '[of(mains, false),',
  ),
  mutation(
    'a refused connection passes a probe',
    TCP_PROBE,
    "return { kind: 'failure', output: dialErrorText(",
    "return { kind: 'success', output: dialErrorText(",
  ),
  mutation(
    'an HTTP error passes a probe',
    HTTP_PROBE,
    "return { kind: 'failure', output: `HTTP",
    "return { kind: 'success', output: `HTTP",
  ),
  mutation('every gRPC health status passes a probe', GRPC_PROBE, "if (status === 'SERVING')", 'if (status)'),
  mutation(
    'images in use are removed',
    IMAGES_IN_USE,
    'imageNames(each).some((name) => names.has(name))',
    'names.has(each.pinned ? each.id : "")',
  ),
  mutation('every pod may use every image', JUDGE_IMAGE, 'if (known.nodePodsAccessible) return', 'if (known) return'),
  mutation(
    'pull secrets are not read',
    PULL_SECRETS,
    'if (!content) return [];',
    'if (content || !content) return [];',
  ),
  mutation(
    'the runtime does not reopen a rotated log',
    ROTATE,
    'await runtime.reopenContainerLog({ containerId: id }, signal);\n  } catch',
    'void id;\n  } catch',
  ),
  mutation('logs are not linked', LOG_LINKS, 'await this.#fs.symbolicLink(', 'void ('),
  {
    name: 'links to removed logs stay',
    changes: [
      change(DEAD_CONTAINER, 'await removeLogLink(pod, container, deps);', ''),
      change(COLLECTOR, 'await removeDeadLogLinks(settings', 'void (settings'),
    ],
  },
  mutation('a missing log is not restored', ROTATION, 'await restoreLog(container, true, this.#deps, signal);', ''),
  mutation(
    'a failed status write is not retried',
    STATUS_WRITER,
    "this.#due.add(uid);\n          log.warn('cannot write",
    "log.warn('cannot write",
  ),
  mutation('statuses are not written', STATUS_WRITER, 'return api.patch(', 'return pod ?? api.patch('),
  mutation('terminated pods are not deleted', STATUS_WRITER, 'await this.#deps.api.delete(', 'void ('),
  mutation(
    'outdated mirror pods are not replaced',
    MIRRORS,
    'await deleteMirror(outdated, deps, signal);\n      await createMirror(pod, deps, signal);',
    'void outdated;\n      void pod;',
  ),
  mutation('mirror pods are not deleted', MIRRORS, '...plan.delete.map(', '...plan.delete.slice(0, 0).map('),
];
