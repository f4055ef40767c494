import type { ConfigMap, Secret } from '../../src/api/generated/core-v1.ts';
import type { Draw } from './draw.ts';
import type { WorldTimes } from './plan-world.ts';

/** A change of an object that pods refer to: its new version, or its removal (without a version). */
export interface PlannedObject {
  readonly at: number;
  readonly do: 'object';
  readonly resource: ObjectResource;
  readonly namespace: string;
  readonly name: string;
  readonly version: number | undefined;
}

export type ObjectResource = 'configmaps' | 'secrets';

export const NAMESPACES = ['default', 'system'] as const;
export const CONFIG_MAPS: readonly [string, ...string[]] = ['settings-0', 'settings-1', 'settings-2'];
export const SECRETS: readonly [string, ...string[]] = ['keys-0', 'keys-1'];
/** Its even versions allow pulls of the private image. */
export const PULL_SECRET = 'pull';

const GOOD_LOGIN = { username: 'node', password: 'good' };

/** Odd versions of an object also have a key `c`. */
function hasThirdKey(version: number): boolean {
  return version % 2 === 1;
}

/** The text of each key; contains the version. */
export function textsOf(name: string, version: number): ReadonlyMap<string, string> {
  const keys = hasThirdKey(version) ? ['a', 'b', 'c'] : ['a', 'b'];
  return new Map(keys.map((key) => [key, `${name} ${version} ${key}`]));
}

/** The version that a text contains. */
export function versionIn(text: string): number {
  return Number(text.split(' ')[1]);
}

export function isGoodLogin(version: number | undefined): boolean {
  return version !== undefined && version % 2 === 0;
}

export function allowsPull(auth: { readonly username: string; readonly password: string } | undefined): boolean {
  return auth?.username === GOOD_LOGIN.username && auth.password === GOOD_LOGIN.password;
}

export function configMapOf({ namespace, name, version = 0 }: PlannedObject): ConfigMap {
  return { metadata: { name, namespace }, data: Object.fromEntries(textsOf(name, version)) };
}

export function secretOf({ namespace, name, version = 0 }: PlannedObject): Secret {
  const metadata = { name, namespace };
  if (name !== PULL_SECRET) {
    const data = [...textsOf(name, version)].map(([key, text]) => [key, base64(text)] as const);
    return { metadata, type: 'Opaque', data: Object.fromEntries(data) };
  }
  const password = isGoodLogin(version) ? GOOD_LOGIN.password : `bad ${version}`;
  const config = JSON.stringify({ auths: { 'docker.io': { ...GOOD_LOGIN, password } } });
  return { metadata, type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64(config) } };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** How long after the last fault objects change for the last time, and how long they stay unchanged at the end. */
const AFTER_CALM_MS = 340_000;
const BEFORE_END_MS = 60_000;

/** Draws the versions of every object that pods may refer to: late creation, changes, removal and recreation. */
export function drawObjects(draw: Draw, times: WorldTimes): PlannedObject[] {
  return NAMESPACES.flatMap((namespace) => [
    ...CONFIG_MAPS.flatMap((name) => drawVersions(draw, { resource: 'configmaps', namespace, name }, times)),
    ...[...SECRETS, PULL_SECRET].flatMap((name) => drawVersions(draw, { resource: 'secrets', namespace, name }, times)),
  ]);
}

function drawVersions(
  draw: Draw,
  object: Pick<PlannedObject, 'resource' | 'namespace' | 'name'>,
  { calm, settled }: WorldTimes,
): PlannedObject[] {
  const versions: PlannedObject[] = [];
  const set = (at: number, version: number | undefined): void => {
    versions.push({ at, do: 'object', ...object, version });
  };
  let at = draw.chance(0.6) ? 0 : draw.int(0, Math.round(calm * 0.7));
  let version = 0;
  set(at, version);
  for (let step = draw.int(0, 4); step > 0 && at < calm; step--) {
    at += draw.chance(0.3) ? draw.int(0, 2_000) : draw.int(0, Math.round(calm * 0.5));
    if (at >= calm) break;
    if (draw.chance(0.3)) {
      set(at, undefined);
      if (draw.chance(0.15)) return versions;
      at += draw.int(0, 120_000);
    }
    set(at, ++version);
  }
  const last = draw.int(Math.max(at, calm) + AFTER_CALM_MS, settled - BEFORE_END_MS);
  // After failed pulls a pod may back off for five minutes, whatever its secrets contain.
  if (draw.chance(0.6) && object.name !== PULL_SECRET) set(last, ++version);
  return versions;
}
