import type { NodeGetInfoResponse } from '../generated/csi-v1.ts';

/** The node as a CSI driver describes it. */
export interface CsiNodeInfo {
  /** The driver's own name of this node. */
  readonly nodeId: string;
  /** How many volumes of the driver the node can have; zero: the driver sets no limit. */
  readonly maxVolumes: bigint;
  /** The topology segments of the node, by their keys. */
  readonly topology: Readonly<Record<string, string>>;
}

export function toCsiNodeInfo({ nodeId, maxVolumesPerNode, accessibleTopology }: NodeGetInfoResponse): CsiNodeInfo {
  return { nodeId, maxVolumes: maxVolumesPerNode, topology: accessibleTopology?.segments ?? {} };
}
