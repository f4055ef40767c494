import type { Container, Lifecycle, Pod, Probe, Volume } from '../../src/api/generated/core-v1.ts';
import { Draw } from './draw.ts';
import { RESTART_ALL_CODE } from './invariants-of-restarts.ts';
import { CONFIG_MAPS, PULL_SECRET, SECRETS } from './plan-objects.ts';
import { PRIVATE_IMAGE } from './plan-pods.ts';
import { type HookProgram, type Program, programArguments, programOf, type ServerProgram } from './program.ts';

/** Features that a pod of a world may get. */
export interface PodFeatures {
  /** References to ConfigMaps and Secrets. */
  readonly objects: boolean;
  /** A service account token. */
  readonly tokens: boolean;
}

/** Longer than a world. */
const ENDLESS_MS = 1e9;
const FIRST_PORT = 8_000;

/**
 * Adds hooks, probed servers and references to objects. The result depends only on the seed and on the pod's UID in the
 * plan, so that an edited pod keeps its features.
 */
export function addPodFeatures(seed: number, pod: Pod, features: PodFeatures): Pod {
  const extended = withGroup(new Draw(seed, `group ${pod.metadata.uid}`), withHooksAndObjects(seed, pod, features));
  return features.tokens ? withToken(new Draw(seed, `token ${pod.metadata.uid}`), extended) : extended;
}

export const TOKEN_VOLUME = 'kube-api-access';

/** Some pods have a group that all their volumes belong to. */
function withGroup(draw: Draw, pod: Pod): Pod {
  if (!draw.chance(0.3)) return pod;
  return { ...pod, spec: { ...pod.spec, securityContext: { fsGroup: draw.int(2_000, 2_009) } } };
}

/** As the ServiceAccount admission plugin of the API server does. */
function withToken(draw: Draw, pod: Pod): Pod {
  const { spec } = pod;
  const expirationSeconds = draw.pick([600, 607, 1_200, 3_607]);
  if (!draw.chance(0.4)) return pod;
  const token = {
    name: TOKEN_VOLUME,
    projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds } }] },
  };
  const mount = { name: TOKEN_VOLUME, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' };
  const mounted = (each: Container): Container => ({ ...each, volumeMounts: [...(each.volumeMounts ?? []), mount] });
  return {
    ...pod,
    spec: {
      ...spec,
      serviceAccountName: 'default',
      containers: spec.containers.map(mounted),
      volumes: [...(spec.volumes ?? []), token],
    },
  };
}

function withHooksAndObjects(seed: number, pod: Pod, { objects }: PodFeatures): Pod {
  const draw = new Draw(seed, `dress ${pod.metadata.uid}`);
  const { spec } = pod;
  const volumes = objects ? draw.several(0, 2, (index) => drawVolume(draw, `content-${index}`)) : [];
  const extend = (container: Container, offset: number): Container => {
    let extended = withHooks(draw, container, spec.terminationGracePeriodSeconds ?? 30);
    if (!spec.hostNetwork) extended = withServer(draw, extended, FIRST_PORT + offset);
    if (objects) extended = withObjects(draw, extended, volumes);
    return extended;
  };
  const inits = spec.initContainers?.map((each, index) =>
    each.restartPolicy === 'Always' ? extend(each, 100 + index) : each,
  );
  const containers = spec.containers.map(extend);
  const isPrivate = draw.chance(0.1);
  const hasSecret = objects && draw.chance(0.8);
  const restarts = draw.chance(0.12) ? drawRestarts(draw) : undefined;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(inits && { initContainers: inits }),
      containers: containers.map((each, index) => {
        const last = isPrivate ? withPrivateImage(each) : each;
        return restarts && index === 0 ? withRestarts(last, restarts, spec.restartPolicy ?? 'Always') : last;
      }),
      volumes: [...(spec.volumes ?? []), ...volumes],
      ...(isPrivate && hasSecret && { imagePullSecrets: [{ name: PULL_SECRET }] }),
    },
  };
}

function withPrivateImage(container: Container): Container {
  return container.image === 'app:1' ? { ...container, image: PRIVATE_IMAGE } : container;
}

function drawRestarts(draw: Draw): Required<Program>['restartsAll'] {
  return { untilMs: draw.int(300_000, 1_800_000), afterMs: draw.int(5_000, 120_000), code: RESTART_ALL_CODE };
}

/** Adds a rule: when the container exits with RESTART_ALL_CODE, all containers of the pod restart. */
function withRestarts(
  container: Container,
  restartsAll: Required<Program>['restartsAll'],
  restartPolicy: string,
): Container {
  const exitCodes = { operator: 'In', values: [RESTART_ALL_CODE] };
  const rules = [{ action: 'RestartAllContainers', exitCodes }];
  return withProgram({ ...container, restartPolicy, restartPolicyRules: rules }, { restartsAll });
}

function withProgram(container: Container, more: Partial<Program>): Container {
  return { ...container, args: programArguments({ ...programOf(container.args), ...more }) };
}

function withHooks(draw: Draw, container: Container, grace: number): Container {
  const postStart = draw.chance(0.15) ? drawPostStart(draw) : undefined;
  const preStop = draw.chance(0.2) ? drawPreStop(draw) : undefined;
  const sleeps = draw.chance(0.2);
  const seconds = Math.min(draw.int(1, 40), grace - 1);
  if (!postStart && !preStop) return container;
  const lifecycle: Lifecycle = {
    ...(postStart && { postStart: { exec: { command: ['hook', 'postStart'] } } }),
    ...(preStop && { preStop: sleeps ? { sleep: { seconds } } : { exec: { command: ['hook', 'preStop'] } } }),
  };
  return withProgram({ ...container, lifecycle }, { ...(postStart && { postStart }), ...(preStop && { preStop }) });
}

function drawPostStart(draw: Draw): HookProgram {
  const failsFirst = draw.chance(0.3) ? draw.pick([1, 2, 1_000]) : 0;
  const takesMs = draw.pick([0, draw.int(1, 500), draw.int(1_000, 20_000), draw.int(1_000, 20_000)]);
  if (draw.chance(0.04)) return { takesMs: ENDLESS_MS, failsFirst };
  return { takesMs: draw.chance(0.06) ? draw.int(60_000, 300_000) : takesMs, failsFirst };
}

function drawPreStop(draw: Draw): HookProgram {
  const takesMs = draw.pick([0, draw.int(1, 500), draw.int(1_000, 20_000), draw.int(1_000, 20_000), ENDLESS_MS]);
  return { takesMs, failsFirst: draw.chance(0.2) ? 1_000 : 0 };
}

const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;

/** Turns exec probes into network probes of a server in the container. */
function withServer(draw: Draw, container: Container, port: number): Container {
  const speaks = draw.pick(['http', 'tcp', 'grpc'] as const);
  const whenUnhealthy = draw.pick(['refuses', 'hangs', 'reportsUnhealthy'] as const);
  const wants = draw.chance(0.5);
  const probed = PROBES.filter((kind) => container[kind] !== undefined);
  if (!wants || probed.length === 0) return container;
  const server: ServerProgram = { port, speaks, whenUnhealthy };
  const probes = probed.map((kind) => [kind, networkProbe(container[kind] ?? {}, kind, server)] as const);
  return withProgram({ ...container, ...Object.fromEntries(probes) }, { server });
}

function networkProbe({ exec: _exec, ...probe }: Probe, kind: string, { port, speaks }: ServerProgram): Probe {
  const name = kind.replace('Probe', '');
  if (speaks === 'http') return { ...probe, httpGet: { path: `/${name}`, port } };
  return speaks === 'tcp' ? { ...probe, tcpSocket: { port } } : { ...probe, grpc: { port, service: name } };
}

function drawVolume(draw: Draw, name: string): Volume {
  const optional = draw.chance(0.25);
  const configMap = draw.pick(CONFIG_MAPS);
  const secretName = draw.pick(SECRETS);
  switch (draw.pick(['configMap', 'secret', 'projected'])) {
    case 'configMap':
      return { name, configMap: { name: configMap, optional } };
    case 'secret':
      return { name, secret: { secretName, optional } };
    default: {
      const ofMap = { name: configMap, optional, items: [{ key: 'a', path: 'settings/a' }] };
      const ofSecret = { name: secretName, optional, items: [{ key: 'b', path: 'keys/b' }] };
      return { name, projected: { sources: [{ configMap: ofMap }, { secret: ofSecret }] } };
    }
  }
}

/** Mounts the volumes in the container, and adds variables from objects to some containers. */
function withObjects(draw: Draw, container: Container, volumes: readonly Volume[]): Container {
  const mounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const optional = draw.chance(0.25);
  const configMapKeyRef = { name: draw.pick(CONFIG_MAPS), key: 'a', optional };
  const secretKeyRef = { name: draw.pick(SECRETS), key: 'b', optional };
  const envFrom = { prefix: 'ALL_', configMapRef: { name: draw.pick(CONFIG_MAPS), optional } };
  const env = [
    ...(draw.chance(0.12) ? [{ name: 'SETTING', valueFrom: { configMapKeyRef } }] : []),
    ...(draw.chance(0.12) ? [{ name: 'KEY', valueFrom: { secretKeyRef } }] : []),
  ];
  return {
    ...container,
    volumeMounts: [...(container.volumeMounts ?? []), ...mounts],
    ...(env.length > 0 && { env }),
    ...(draw.chance(0.08) && { envFrom: [envFrom] }),
  };
}
