import type { Container, Pod, PodSpec, Probe, Volume } from '../../src/api/generated/core-v1.ts';
import type { Draw } from './draw.ts';
import { type Program, programArguments } from './program.ts';

/** Versions of one image; all of them can be pulled. */
export const IMAGES = ['app:1', 'app:2', 'app:3', 'app:4'] as const;
/** Its pull is slow. */
export const SLOW_IMAGE = 'slow:1';
/** Cannot be pulled until an action of the plan publishes it. */
export const LATE_IMAGE = 'late:1';
/** Can never be pulled. */
export const MISSING_IMAGE = 'missing:1';

/** Can only be pulled with valid credentials. */
export const PRIVATE_IMAGE = 'private:1';

const GRACES = [1, 2, 5, 10, 30, 30, 60] as const;

/** Draws a pod; the caller sets its UID. */
export function drawPod(draw: Draw, name: string): Pod {
  const isRejected = draw.chance(0.03);
  const volumes = draw.several(0, 2, (index) => drawVolume(draw, `volume-${index}`));
  const spec: PodSpec = {
    restartPolicy: draw.pick(['Always', 'Always', 'OnFailure', 'Never']),
    terminationGracePeriodSeconds: draw.pick(GRACES),
    hostNetwork: draw.chance(0.1),
    dnsPolicy: 'Default',
    ...(isRejected && { nodeSelector: { nowhere: 'true' } }),
    ...(draw.chance(0.45) && { initContainers: draw.several(1, 3, (index) => drawInit(draw, `init-${index}`)) }),
    containers: draw.several(1, 3, (index) => drawMain(draw, `main-${index}`, volumes)),
    volumes,
  };
  return { metadata: { name, namespace: draw.pick(['default', 'default', 'system']), uid: '' }, spec };
}

/** Changes the image of one main container. */
export function editedPod(draw: Draw, pod: Pod, version: number): Pod {
  const { spec } = pod;
  const edited = draw.int(0, spec.containers.length - 1);
  const image = IMAGES[version % IMAGES.length] ?? IMAGES[0];
  const containers = spec.containers.map((each, index) => (index === edited ? { ...each, image } : each));
  return { ...pod, spec: { ...spec, containers } };
}

/** Adds an ephemeral container, as `kubectl debug` does. */
export function debuggedPod(draw: Draw, pod: Pod): Pod {
  const debug = { ...drawMain(draw, 'debug', []), livenessProbe: undefined, readinessProbe: undefined };
  const target = draw.chance(0.5) ? { targetContainerName: pod.spec.containers[0]?.name } : {};
  return { ...pod, spec: { ...pod.spec, ephemeralContainers: [{ ...debug, startupProbe: undefined, ...target }] } };
}

function drawVolume(draw: Draw, name: string): Volume {
  return { name, emptyDir: draw.chance(0.4) ? { medium: 'Memory' } : {} };
}

function drawInit(draw: Draw, name: string): Container {
  if (draw.chance(0.35)) return { ...drawMain(draw, name, []), restartPolicy: 'Always' };
  const exits = { afterMs: draw.int(0, 20_000), code: draw.chance(0.07) ? 1 : 0 };
  const crashesFirst = draw.chance(0.2) ? draw.int(1, 2) : 0;
  return { name, image: drawImage(draw), args: programArguments({ exits, crashesFirst, ...drawEnd(draw) }) };
}

function drawMain(draw: Draw, name: string, volumes: readonly Volume[]): Container {
  const probes = drawProbes(draw);
  return {
    name,
    image: drawImage(draw),
    args: programArguments({ ...drawLifetime(draw), ...drawEnd(draw), ...probes.program }),
    ...probes.container,
    ...(draw.chance(0.3) && { resources: { requests: { cpu: '10m', memory: '1Mi' } } }),
    volumeMounts: volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
  };
}

function drawImage(draw: Draw): string {
  if (draw.chance(0.88)) return IMAGES[0];
  return draw.pick([SLOW_IMAGE, SLOW_IMAGE, LATE_IMAGE, MISSING_IMAGE]);
}

function drawLifetime(draw: Draw): Program {
  const failsAtStart = draw.chance(0.05) ? draw.int(1, 2) : 0;
  const crashesFirst = draw.chance(0.15) ? draw.int(1, 3) : 0;
  const failures = { failsAtStart, crashesFirst };
  if (draw.chance(0.5)) return failures;
  const afterMs = draw.pick([0, 100, 5_000, 60_000, draw.int(1, 1_200_000)]);
  return { ...failures, exits: { afterMs, code: draw.pick([0, 0, 0, 1, 137]) } };
}

function drawEnd(draw: Draw): Pick<Program, 'onTerminate'> {
  if (draw.chance(0.6)) return {};
  if (draw.chance(0.4)) return { onTerminate: 'ignore' };
  return { onTerminate: { afterMs: draw.int(1, 20_000), code: draw.pick([0, 143]) } };
}

function drawProbes(draw: Draw): {
  program: Program;
  container: Partial<Pick<Container, 'livenessProbe' | 'readinessProbe' | 'startupProbe'>>;
} {
  const program: Program = {
    startupAfterMs: draw.int(0, 20_000),
    readyAfterMs: draw.int(0, 30_000),
    ...(draw.chance(0.3) && { unhealthyAfterMs: draw.int(60_000, 900_000) }),
    ...(draw.chance(0.2) && { checkMs: draw.int(1, 1_500) }),
  };
  const container = {
    ...(draw.chance(0.2) && { livenessProbe: drawProbe(draw, 'liveness') }),
    ...(draw.chance(0.2) && { readinessProbe: drawProbe(draw, 'readiness') }),
    ...(draw.chance(0.1) && { startupProbe: { ...drawProbe(draw, 'startup'), failureThreshold: 10 } }),
  };
  return { program, container };
}

function drawProbe(draw: Draw, kind: 'liveness' | 'readiness' | 'startup'): Probe {
  const ownGrace = kind !== 'readiness' && draw.chance(0.3);
  return {
    exec: { command: ['check', kind] },
    periodSeconds: draw.pick([10, 20, 30]),
    timeoutSeconds: 2,
    ...(ownGrace && { terminationGracePeriodSeconds: draw.pick([1, 5, 20]) }),
  };
}
