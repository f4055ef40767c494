import { Buffer } from 'node:buffer';
import { volumePath } from '../../src/kubelet/volumes/volume-paths.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { TOKEN_VOLUME } from './dress-pod.ts';
import { isHooked } from './invariants-of-hooks.ts';
import { lacksVolumes } from './invariants-of-objects.ts';
import type { PodRecord } from './truth.ts';
import type { World } from './world.ts';

/** A pod is looked at once a minute, up to half a minute later by chance, and its worker may be busy with a pull. */
const LOOK_MS = 90_000 + 45_000;
/** From this share of its life on a token is to be renewed. */
const RENEWED_AT = 0.8;

interface Claims {
  readonly iat: number;
  readonly exp: number;
  readonly 'kubernetes.io': { readonly pod?: { readonly name: string; readonly uid: string } };
}

/** While the API server answers, the token that a running pod sees is its own, and not late in its life. */
export async function checkTokens(world: World): Promise<void> {
  const { scene, host } = world;
  for (const pod of runningPods(world)) {
    const path = volumePath(SETTINGS.rootDir, pod.uid, 'projected', TOKEN_VOLUME);
    if (!(await host.fs.stat(`${path}/token`))) continue;
    const claims = claimsOf(await host.fs.readText(`${path}/token`));
    const bound = claims['kubernetes.io'].pod?.uid;
    if (bound !== pod.uid) scene.fail(28, `${pod.uid} has a token of ${bound}`);
    const renewMs = 1000 * (claims.iat + RENEWED_AT * (claims.exp - claims.iat));
    const lateMs = Math.min(scene.wallMs() - renewMs, quietMs(pod, world));
    if (lateMs > LOOK_MS) scene.fail(28, `the token of ${pod.uid} should be another since ${lateMs} ms`);
  }
}

function runningPods({ scene, runtime }: World): PodRecord[] {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const pods = new Set(running.map((each) => scene.truth.podOf(each)).filter((pod) => pod !== undefined));
  return [...pods].filter((pod) => {
    const latest = pod.versions.at(-1);
    if (!latest?.spec.volumes?.some(({ name }) => name === TOKEN_VOLUME)) return false;
    return pod.isWanted && pod.told?.as === 'wanted' && !lacksVolumes(latest, scene.objects);
  });
}

/** For how long nothing was in the way of the agent, seen from this pod. */
function quietMs(pod: PodRecord, { scene, life }: World): number {
  const { book, now, jumpedAt } = scene;
  if (!life || isHooked(pod, now() - LOOK_MS)) return 0;
  return now() - Math.max(book.troubleUntil, book.machineTroubleUntil, jumpedAt(), pod.told?.at ?? now());
}

function claimsOf(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims; // as the server makes them
}
