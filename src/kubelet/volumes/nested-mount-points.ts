import { posix } from 'node:path';
import { allContainers } from '../../api/all-containers.ts';
import type { Container, Pod } from '../../api/generated/core-v1.ts';

/**
 * Folders that must be in a volume because some container mounts another volume inside it, relative to it: the runtime
 * cannot make them in what is read-only. What is mounted inside such a folder is not this volume's affair.
 */
export function nestedMountPoints(volumeName: string, { spec }: Pod): readonly string[] {
  return [...new Set(allContainers(spec).flatMap((container) => nestedIn(volumeName, container)))];
}

function nestedIn(volumeName: string, { volumeMounts = [] }: Container): string[] {
  const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: posix.resolve('/', mountPath) }));
  const paths = mounts.map(({ path }) => path);
  return mounts
    .filter(({ name }) => name === volumeName)
    .flatMap(({ path }) => {
      const inside = paths.filter((each) => isBelow(each, path));
      const outermost = inside.filter((each) => !inside.some((other) => isBelow(each, other)));
      return outermost.map((each) => posix.relative(path, each));
    });
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === '/' ? folder : `${folder}/`) && path !== folder;
}
