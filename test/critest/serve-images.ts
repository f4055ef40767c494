import { dirname } from 'node:path';
import { clusterToolsFolder } from '../integration/cluster-tools.ts';
import { startRegistry, type TestRegistry } from '../integration/registry-fixture.ts';
import { critestImages } from './critest-images.ts';
import { debianRoot } from './debian-root.ts';
import { ImagePusher } from './push-image.ts';

/** Starts a registry with the images of critest. */
export async function serveCritestImages(): Promise<TestRegistry> {
  const registry = await startRegistry();
  const pusher = new ImagePusher(registry.address);
  for (const image of critestImages(debianRoot(dirname(clusterToolsFolder())))) await pusher.push(image);
  return registry;
}
