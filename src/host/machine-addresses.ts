/** The current addresses of this machine. */
export interface MachineAddresses {
  /** Of all interfaces that are up, loopback included. */
  all(): readonly string[];
  /** The address of the interface with the default route of that family, or else of any other non-loopback interface. */
  primary(family: 4 | 6): string | undefined;
}
