export interface DriverPlan {
  /** Of the CSIDriver object. */
  readonly spec?: object;
  readonly flags?: readonly string[];
  /** See `CsiProxyPlan`. */
  readonly repeatsUnpublish?: boolean;
  /** It does not register before `register()`. */
  readonly late?: boolean;
}

export interface ClaimPlan {
  readonly pv?: object;
  /** Changes of the PV's `csi`. */
  readonly csi?: object;
  readonly claim?: object;
  readonly block?: boolean;
  /** Instead of a new volume of the driver. */
  readonly handle?: string;
}

export interface PodPlan {
  readonly spec?: object;
  readonly container?: object;
}
