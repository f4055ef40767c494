import { readFileSync } from 'node:fs';
import type { ImageFile } from '../../src/app/images/oci-archive.ts';
import type { DebianRoot } from '../critest/debian-root.ts';
import { layer, PATH, pause, type TestImage } from '../critest/image-files.ts';
import { type ClusterTool, clusterTool } from '../integration/cluster-tools.ts';

/** Debian packages with programs of these images, beside those of critest's images. */
export const KUBEADM_PACKAGES: readonly string[] = ['iptables'];
/** Programs of these images. */
export const CONTROL_PLANE_TOOLS: readonly ClusterTool[] = [
  'coredns',
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
];
/** The host of the images; a local registry serves it. */
export const IMAGE_HOST = 'registry.k8s.io';

const VERSION = 'v1.36.4';

/** The images of `kubeadm config images list`, made of the programs of the same versions. */
export function controlPlaneImages(debian: DebianRoot): readonly TestImage[] {
  const kubernetes = (name: ClusterTool, ...more: readonly ImageFile[]): TestImage => {
    const files = layer(program(name, `usr/local/bin/${name}`), ...more);
    return { repository: name, tags: [VERSION], layers: [files], config: { Env: PATH } };
  };
  return [
    kubernetes('kube-apiserver'),
    kubernetes('kube-controller-manager'),
    kubernetes('kube-scheduler'),
    kubernetes('kube-proxy', ...iptables(debian)),
    {
      repository: 'coredns/coredns',
      tags: ['v1.14.2'],
      layers: [layer(program('coredns', 'coredns'))],
      config: { Entrypoint: ['/coredns'], Env: PATH },
    },
    {
      repository: 'etcd',
      tags: ['3.6.8-0'],
      layers: [layer(program('etcd', 'usr/local/bin/etcd'))],
      config: { Env: PATH },
    },
    pause(debian, '3.10.2'),
  ];
}

function program(name: ClusterTool, path: string): ImageFile {
  return { kind: 'file', path, mode: 0o755, data: readFileSync(clusterTool(name)) };
}

/** What kube-proxy runs in its mode `iptables`, with the matches and targets that are separate files. */
function iptables(debian: DebianRoot): readonly ImageFile[] {
  const names = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);
  const extensions = debian.run('/usr/bin/bash', '-c', 'echo /usr/lib/*/xtables/*.so').trim().split(' ');
  return [
    ...debian.program('/usr/sbin/xtables-nft-multi'),
    ...names.map((name) => ({ kind: 'link', path: `usr/sbin/${name}`, target: 'xtables-nft-multi' }) as const),
    ...extensions.map((path) => debian.file(path, path, 0o644)),
  ];
}
