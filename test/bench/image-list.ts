/**
 * Lists 1,000 images through the CRI socket: `nodelet cri` compared with Debian's containerd, alternating in one run. The
 * images come from one archive; each has its own configuration, and all have the same layer.
 *
 *   make dist && scripts/node test/bench/image-list.ts [--images 1000] [--rounds 50] [--source]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { ListImagesRequest } from '../../src/cri/generated/runtime-v1.ts';
import { buildArchive, buildConfig, buildLayer } from '../../src/runtime/images/fake/image-archives.ts';
import { descriptorOf, encodeDocument } from '../../src/runtime/images/image-documents.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { header, inTurns, row, type Side, startBoth, timed } from './both-runtimes.ts';

const { values } = parseArgs({
  options: {
    images: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '50' },
    source: { type: 'boolean', default: false },
  },
});

/** containerd notifies its CRI plugin of an import by events that clients cannot see. */
const ASK_AGAIN_MS = 100;
const signal = new AbortController().signal;
const count = Number(values.images);

async function listed({ cri }: Side): Promise<number> {
  return (await cri.images.listImages(ListImagesRequest.create(), signal)).images.length;
}

/** An archive of images that share only one layer. */
async function archiveOfMany(): Promise<Uint8Array> {
  const layer = await buildLayer({ 'etc/image': 'tiny' });
  const blobs = new Map<string, Uint8Array>();
  const add = (data: Uint8Array, type: string) => {
    blobs.set(`blobs/${digestOf(data).replace(':', '/')}`, data);
    return descriptorOf(`application/vnd.oci.image.${type}`, data);
  };
  const manifests = Array.from({ length: count }, (_, number) => {
    const config = { Cmd: ['serve', String(number)] };
    const manifest = {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: add(buildConfig({ layers: [layer], architecture: goArchitecture(), config }), 'config.v1+json'),
      layers: [add(layer, 'layer.v1.tar')],
    };
    const name = `localhost/team-${number % 20}/service-${number}:1.${number}.0`;
    return { ...add(encodeDocument(manifest), 'manifest.v1+json'), annotations: { 'io.containerd.image.name': name } };
  });
  const layout = encodeDocument({ imageLayoutVersion: '1.0.0' });
  return buildArchive([
    ...blobs,
    ['oci-layout', layout],
    ['index.json', encodeDocument({ schemaVersion: 2, manifests })],
  ]);
}

const bytes = await archiveOfMany();
await using both = await startBoth(values);
for (const side of both.sides) {
  const archive = join(side.runtime.folder, 'images.tar');
  writeFileSync(archive, bytes);
  const ms = await timed(async () => {
    await side.runtime.load(archive);
    while ((await listed(side)) < count) await delay(ASK_AGAIN_MS);
  });
  console.log(`${side.name}: ${count} images loaded in ${ms.toFixed(0)} ms`);
}
header();
const figures = await inTurns(both.sides, Number(values.rounds), (side) => timed(() => listed(side)));
row(`ListImages of ${count}`, figures, 'ms');
