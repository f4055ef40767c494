/** An NRI plugin as a separate program: adds a variable to each container. */
import { Socket } from 'node:net';
import { byteStreamOf } from '../../src/host/linux/net/byte-stream.ts';
import { MemoryPlugin } from '../../src/runtime/nri/fake/memory-plugin.ts';
import { ContainerAdjustment } from '../../src/runtime/nri/generated/nri-v1alpha1.ts';

const { NRI_PLUGIN_NAME: name = '', NRI_PLUGIN_IDX: index = '', NRI_PLUGIN_SOCKET: descriptor = '' } = process.env;
let config = '';
const plugin = new MemoryPlugin(byteStreamOf(new Socket({ fd: Number(descriptor) })), {
  configure: (request) => {
    config = request.config;
    return {};
  },
  createContainer: () => ({
    adjust: ContainerAdjustment.fromPartial({ env: [{ key: 'ADDED_BY', value: `${index}-${name} ${config}` }] }),
  }),
});
await plugin.register(name, index);
await plugin.closed;
