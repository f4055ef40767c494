import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { debianRoot } from '../critest/debian-root.ts';
import { ImagePusher } from '../critest/push-image.ts';
import { clusterTool, clusterToolsFolder } from '../integration/cluster-tools.ts';
import { makeCertificate, startRegistry, type TestRegistry } from '../integration/registry-fixture.ts';
import { CONFORMANCE_PACKAGES, conformanceImages } from './conformance-images.ts';

/** Starts a registry with the images of the node conformance tests. */
export async function serveConformanceImages(): Promise<TestRegistry> {
  const registry = await startRegistry();
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-certificate-'));
  try {
    const pusher = new ImagePusher(registry.address);
    const debian = debianRoot(dirname(clusterToolsFolder()), CONFORMANCE_PACKAGES);
    const agnhost = {
      program: clusterTool('agnhost'),
      certificate: makeCertificate(folder),
      key: join(folder, 'key.pem'),
    };
    for (const image of await conformanceImages(debian, agnhost)) await pusher.push(image);
    return registry;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
