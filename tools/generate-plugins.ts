/** Writes src/plugins/generated: the protocols of what plugs into the node. */
import type { Generated } from './generate.ts';
import { generateProto } from './generate-proto.ts';

const TIMESTAMP = 'google/protobuf/timestamp.proto';
const WRAPPERS = 'google/protobuf/wrappers.proto';

/** The same tables and node_modules give the same text. */
export function generatePlugins(root: string): Generated {
  return generateProto(root, 'src/plugins/generated', [
    { name: 'csi-v1', tables: ['csi-v1'], imports: [TIMESTAMP, WRAPPERS] },
    { name: 'deviceplugin-v1beta1', tables: ['kubelet-deviceplugin-v1beta1'] },
    { name: 'dra-health-v1alpha1', tables: ['kubelet-dra-health-v1alpha1'] },
    { name: 'dra-v1', tables: ['kubelet-dra-v1'] },
    { name: 'pluginregistration-v1', tables: ['kubelet-pluginregistration-v1'] },
    { name: 'podresources-v1', tables: ['kubelet-podresources-v1'] },
  ]);
}
