import type { AuthConfig } from '../../src/cri/generated/runtime-v1.ts';
import { newClusterWorld, type World } from './memory-agent.ts';

export const PRIVATE_IMAGE = 'registry.io/team/app:1';

/** A world whose registry returns the image only to user `u` with password `p`. */
export async function newPrivateWorld(): Promise<Required<World>> {
  const world = await newClusterWorld();
  const allows = (auth: AuthConfig | undefined) => auth?.username === 'u' && auth.password === 'p';
  world.runtime.registry.set(PRIVATE_IMAGE, { allows, pullMs: 100 });
  return world;
}
