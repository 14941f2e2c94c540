"""Reading by a multimodal model: asked within limits, believed as far as the picture's own words bear it out."""
