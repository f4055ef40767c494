import { Buffer } from 'node:buffer';
import { volumePath } from '../../src/kubelet/volumes/volume-paths.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { isInPostStart } from './invariants-of-hooks.ts';
import { isMissingVolumes } from './invariants-of-objects.ts';
import { TOKEN_VOLUME } from './pod-features.ts';
import type { PodRecord } from './pod-records.ts';
import type { World } from './world.ts';

/** A pod is synced once a minute with a jitter of half a minute, and its worker may be busy with a pull. */
const SYNC_MS = 90_000 + 45_000;
/** The share of its validity after which a token must be renewed. */
const RENEWED_AT = 0.8;

interface Claims {
  readonly iat: number;
  readonly exp: number;
  readonly 'kubernetes.io': { readonly pod?: { readonly name: string; readonly uid: string } };
}

/** While the API server answers, the token of a running pod is bound to it and renewed in time. */
export async function checkTokens(world: World): Promise<void> {
  const { context, host } = world;
  for (const pod of runningPods(world)) {
    const path = volumePath(SETTINGS.rootDir, pod.uid, 'kubernetes.io/projected', TOKEN_VOLUME);
    if (!(await host.fs.stat(`${path}/token`))) continue;
    const claims = parseClaims(await host.fs.readText(`${path}/token`));
    const bound = claims['kubernetes.io'].pod?.uid;
    if (bound !== pod.uid) context.fail(28, `${pod.uid} has a token of ${bound}`);
    const renewMs = 1000 * (claims.iat + RENEWED_AT * (claims.exp - claims.iat));
    const lateMs = Math.min(context.wallMs() - renewMs, quietMs(pod, world));
    if (lateMs > SYNC_MS) context.fail(28, `the token of ${pod.uid} should have been renewed ${lateMs} ms ago`);
  }
}

function runningPods({ context, runtime }: World): PodRecord[] {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const pods = new Set(running.map((each) => context.records.podOf(each)).filter((pod) => pod !== undefined));
  return [...pods].filter((pod) => {
    const latest = pod.versions.at(-1);
    if (!latest?.spec.volumes?.some(({ name }) => name === TOKEN_VOLUME)) return false;
    return pod.isWanted && pod.reported?.as === 'wanted' && !isMissingVolumes(latest, context.objects);
  });
}

/** How long the agent had no fault that affects this pod. */
function quietMs(pod: PodRecord, { context, agentProcess }: World): number {
  const { clusterState, now, jumpedAt } = context;
  if (!agentProcess || isInPostStart(pod, now() - SYNC_MS)) return 0;
  return (
    now() - Math.max(clusterState.apiFaultUntil, clusterState.machineFaultUntil, jumpedAt(), pod.reported?.at ?? now())
  );
}

function parseClaims(token: string): Claims {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims; // the server wrote them
}
