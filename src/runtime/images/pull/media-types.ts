import type { Descriptor } from '../manifest.ts';

const CONFIGS = ['application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json'];

const LAYER = new RegExp(
  [
    '^application/vnd\\.oci\\.image\\.layer\\.(nondistributable\\.)?v1\\.tar(\\+gzip|\\+zstd)?$',
    '^application/vnd\\.docker\\.image\\.rootfs\\.(foreign\\.)?diff\\.tar(\\.gzip|\\.zstd)?$',
  ].join('|'),
);

/** Why something of this type is not part of what a container can run; `undefined`: it is. */
export function configFault({ mediaType }: Descriptor): string | undefined {
  if (CONFIGS.includes(mediaType)) return undefined;
  return `not an image of a container: its configuration has the media type ${JSON.stringify(mediaType)}`;
}

export function layerFault({ digest, mediaType }: Descriptor): string | undefined {
  if (LAYER.test(mediaType)) return undefined;
  if (mediaType.includes('+encrypted')) return `layer ${digest} is encrypted, which is not supported`;
  return `layer ${digest} has the media type ${JSON.stringify(mediaType)}, which is not a layer of a file system`;
}
