import type { RuntimePaths } from './runtime-paths.ts';

/** The file below the CNI folder; there is no other. */
export const CONFLIST_NAME = '10-nodelet.conflist';

/** A bridge that is the pods' gateway, with their addresses hidden behind the machine's, and host ports. */
export function cniConfig({ bridge, ipamDir }: RuntimePaths, podCidr: string): string {
  const network = {
    cniVersion: '1.0.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: ipamDir,
          ranges: [[{ subnet: podCidr }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(network, undefined, 2)}\n`;
}
