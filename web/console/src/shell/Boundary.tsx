export { Boundary } from "@castalia/oracles-ui/parts";
