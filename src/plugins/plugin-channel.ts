import { typedChannel } from '../base/typed-channel.ts';

/** What the connections to plugins did. */
export type PluginMessage =
  /** A unary call ended. */
  | {
      readonly kind: 'called';
      /** The driver, or the resource of a device plugin. */
      readonly plugin: string;
      /** `/csi.v1.Node/NodeStageVolume` */
      readonly path: string;
      /** gRPC's name of the code in Go: `OK`, `DeadlineExceeded`. */
      readonly code: string;
      /** The call is for a volume of a type that was migrated to the driver. */
      readonly isMigrated: boolean;
      readonly tookMs: number;
    }
  /** A device plugin asked for its registration. */
  | { readonly kind: 'deviceRegistration'; readonly resource: string }
  /** A client called the pod resources API. */
  | {
      readonly kind: 'podResourcesRequest';
      readonly version: 'v1' | 'v1alpha1';
      readonly method: 'List' | 'Get' | 'GetAllocatableResources';
      readonly isError: boolean;
    };

export const pluginChannel = typedChannel<PluginMessage>('nodelet.plugin');
