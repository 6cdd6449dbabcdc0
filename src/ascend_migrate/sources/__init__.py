"""What lies in a project: which files there are, which of them are Python, which are none of our business."""
