/** The addresses of this machine, as of the moment. */
export interface MachineAddresses {
  /** Of all interfaces that are up, loopback included. */
  all(): readonly string[];
  /** Of the interface behind the default route of that family, or of any other one that leads out of the machine. */
  primary(family: 4 | 6): string | undefined;
}
