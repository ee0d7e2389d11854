"""Help for those who write ways: lint, graph, permissions, reflow. No hook loads it."""
