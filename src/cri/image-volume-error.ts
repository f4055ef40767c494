/** CRI's reason for an image volume that cannot be mounted: the message of such an error starts with it. */
export const IMAGE_VOLUME_MOUNT_FAILED = 'ImageVolumeMountFailed';
