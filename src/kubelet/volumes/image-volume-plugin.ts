import { volumePlugin } from './volume-plugin.ts';

/** An image whose files the runtime mounts. It is pulled when a container that mounts it starts. */
export const imageVolumePlugin = volumePlugin({
  name: 'kubernetes.io/image',
  supportsRelabel: false,
  source: ({ volume }) => volume.image,
  async setUp(image) {
    return { image, readOnly: true };
  },
});
